/*
 * Snapshot, commit and restart: written from the rules, not from the Python code, so that both can be wrong only
 * where they are wrong alike. Letters and numbers (I8) are those of the list of invariants.
 *
 *     source 0 --channel 0--> join --channel 2--> two-phase sink (pieces, target, ledger)
 *     source 1 --channel 1-->      --channel 3--> its sibling (applies at once)
 *
 * The join takes its inputs in any order and sends one batch for each: which one is its output's number k is settled
 * by nothing but the journal. A batch is a set of source rows (a bit each), so that what the target shows can be
 * compared with what the sources had.
 *
 * Rules of this model.
 * (1) What is atomic here is atomic in the rules: a unit, a snapshot with its barriers, the store's act, the target's
 *     transaction, a restart of a region as the coordinator decides it.
 * (2) Every step uses something up (a row, an item, an id, a budget), so a run without end would be a fault (searched
 *     for with LIVENESS), and a run that stops before `done` is a blocked channel (I13).
 * (3) An abort is not announced at a set time: whoever meets a barrier of a dead id may know of it or not.
 * (4) An acknowledgement is answered at once, or is late: then it is held and arrives at any time, perhaps twice.
 * (5) A channel is the receiver's queue. When only its sender restarts, any suffix (what was on its way) is lost.
 * (6) Channel state is a set of batch numbers: the handles. The batches are in the exchange (`segment`).
 */

#ifndef ROWS
#define ROWS 2 /* of each source, one row a batch */
#endif
#ifndef PERIODIC
#define PERIODIC 1 /* checkpoints by timer, without the final one */
#endif
#ifndef FAILURES
#define FAILURES 1 /* of a subtask */
#endif
#ifndef CRASHES
#define CRASHES 0 /* of the coordinator and with it of all subtasks; its messages live on */
#endif
#ifndef EXPIRIES
#define EXPIRIES 0 /* of a checkpoint for which nothing was lost */
#endif
#ifndef LATE
#define LATE 0 /* acknowledgements that are held back */
#endif
#ifndef LOST
#define LOST 0 /* triggers, commit messages, confirmations */
#endif
#ifndef REPEATS
#define REPEATS 0 /* messages that arrive twice */
#endif
#ifndef CAPACITY
#define CAPACITY 2 /* of a channel, in items */
#endif

#define EVERYONE 31
#define JOIN 2
#define SINK 3
#define SIBLING 4
#define OLD 5
#define OUTPUTS (2 * ROWS)
#define ALL_ROWS ((1 << OUTPUTS) - 1)
#define TWICE 128 /* a piece set that holds a row two times */
#define IDS 9
#define ALIGNED 0 /* in an item's first field, where a batch has its number */
#define UNALIGNED_BARRIER 9
#define QUEUE (OUTPUTS + 2)
#define bit_(i) (1 << (i))
#define up_to(k) (bit_(k) - 1) /* the set of the batch numbers 1..k */

/* Names that stand in violated assertions; never set, never part of a state. With EFFECTS only what a user would see
 * is checked: rows lost, rows twice, rows of nothing. */
hidden byte I1_no_loss, I2_no_duplicate;
#ifdef EFFECTS
#define I5_no_phantom 1
#define I8_consistent_cut 1
#define I9_complete 1
#define I11_ids_grow 1
#define I17_newest 1
#define I23_no_gap 1
#define I24_abort_first 1
#define I27_commit_of_completed 1
#define I30_in_order 1
#define I39_same_content 1
#else
hidden byte I5_no_phantom, I8_consistent_cut, I9_complete, I11_ids_grow, I17_newest, I23_no_gap, I24_abort_first;
hidden byte I27_commit_of_completed, I30_in_order, I39_same_content;
#endif
hidden byte I43_success_after_commit, I50_ids_run_out;

chan queue[4] = [QUEUE] of { byte, byte };
byte received[4]; /* the last number taken into the queue or applied */
byte applied[4];  /* the last number applied */
bit redo[4];      /* since the last completion the sender restarted behind a surviving receiver (I22) */

typedef Snapshot {
  byte first; /* source: rows read. join: applied of channel 0. sinks: applied */
  byte second; /* join: applied of channel 1. two-phase sink: pieces */
  byte third; /* channel state of channel 0 (join) or of the input (sinks) */
  byte fourth; /* channel state of channel 1 (join). two-phase sink: the checkpoint after which its pieces begin */
  byte stamp;
};

/* subtasks */
byte read[2];           /* rows that a source has read */
byte trigger[2];        /* a trigger on its way to a source */
bit trigger_kind[2];
byte begun[5];          /* the highest checkpoint a subtask has begun or knows to be dead */
byte stamp[5];          /* incarnation * 4 + epoch: older ones are dropped (I37) */
byte flight;            /* the join's unit: taken and journalled, not emitted */
byte aligning, arrived; /* the join's checkpoint in progress, and the inputs whose barrier has come */
bit recording;          /* ... it is an unaligned one: */
byte frozen[2], channel_state[2];
byte staged_old, staged_new; /* pieces inside and outside of the sink's last snapshot */
byte since;                  /* the last checkpoint that the sink knows to be completed */
byte shown_by_sibling;
#ifdef MUTANT_JOURNAL_LATE
byte unlogged;
#endif

/* durable: journal, exchange, store, target */
byte written[2];         /* the sources' journals: rows read */
byte journal, journalled; /* bit k-1: the input of the join's unit k; how many */
byte segment[OUTPUTS + 1];
Snapshot record[5];
byte completed;                       /* the newest record */
short were_completed;                 /* a set of ids */
byte rows[IDS], life[IDS], previous[IDS];
byte incarnation;                     /* as claimed in the store */
byte last_id;                         /* burnt before it is used (I11) */
byte ledger, ledger_incarnation, visible;

/* coordinator */
Snapshot collected[10]; /* of the pending checkpoint; from OLD on: of a record that an older incarnation sent to the store */
byte pending, acknowledged, dead;
bit persisting, trigger_lost;
byte confirmed, triggered;
bit done;

/* messages that outlive their sender */
byte held_id, held_from;
Snapshot held;
byte commit_id, commit_rows, commit_incarnation;             /* of this incarnation */
byte old_commit_id, old_commit_rows, old_commit_incarnation; /* of one before */
byte zombie_id, zombie_incarnation;

byte failures = FAILURES, crashes = CRASHES, expiries = EXPIRIES, late = LATE, lost = LOST, repeats = REPEATS;
#ifdef SWITCHES
byte switches = SWITCHES;
#endif
byte g_i, g_k, g_n, g_x, g_y, g_set, g_end; /* scratch, 0 between steps */
byte highest_id_ever; /* for I11 alone */

#define taken (applied[0] + applied[1])
#define emitted (taken - (flight != 0))
#define ended(s) (read[s] == ROWS)
#define final_record (completed && record[0].first == ROWS && record[1].first == ROWS && !record[JOIN].third && !record[JOIN].fourth && !record[SINK].third && !record[SIBLING].third)
#define has_room(c, k) (len(queue[c]) < CAPACITY || k <= received[c])
#define barrier_fits(c) (len(queue[c]) < QUEUE)
#define batch_first(c) (nempty(queue[c]) && !(queue[c]?[ALIGNED, _]) && !(queue[c]?[UNALIGNED_BARRIER, _]))

/* Where a mutant changes a guard. */
#ifdef MUTANT_ID_REUSED
#define counts(p, mark) true
#else
#define counts(p, mark) (mark == stamp[p] && !(acknowledged & bit_(p)))
#endif
#ifdef MUTANT_BARRIER_DURING_REPLAY
#define replayed(s) true
#else
#define replayed(s) (read[s] >= written[s])
#endif
#define replays(i) (taken >= journalled || ((journal >> taken) & 1) == i)
#ifdef MUTANT_JOURNAL_LATE
#define its_turn(i) (replays(i) && unlogged == 0)
#else
#define its_turn(i) replays(i)
#endif
#ifdef MUTANT_STALE_BARRIER
#define closes(n) (aligning && n <= aligning)
#else
#define closes(n) (n == aligning)
#endif
#ifdef MUTANT_ABORT_WHILE_PERSISTING
#define may_restart true
#else
#define may_restart !persisting
#endif

/* ------------------------------------------------------------------------------------------ channels */

inline put(ch, k, content) {
  if
  :: k > received[ch] ->
     assert(k == received[ch] + 1 || I23_no_gap);
     received[ch] = k;
     queue[ch]!k,content
  :: else ->
#ifdef MUTANT_NO_DEDUP
     if
     :: ch == 2 -> queue[ch]!k,content
     :: else
     fi
#else
     skip
#endif
  fi
}

/* Takes the first unaligned barrier out of a queue, wherever it is: g_n = its id, g_set = the batches before it. */
inline overtake(ch) {
  g_k = len(queue[ch]);
  do
  :: g_k > 0 ->
     g_k--;
     queue[ch]?g_x,g_y;
     if
     :: g_x == UNALIGNED_BARRIER && g_n == 0 -> g_n = g_y
     :: else ->
        if
        :: g_n == 0 && g_x != ALIGNED -> g_set = g_set | bit_(g_x - 1)
        :: else
        fi;
        queue[ch]!g_x,g_y
     fi
  :: else -> break
  od;
  g_x = 0; g_y = 0
}

/* ------------------------------------------------------------------------------------------ acknowledgements */

/* O4.9. Not pending, of an older stamp, twice: without effect (I9, I37). */
inline deliver(p, n, mark, a_, b_, c_, d_) {
  if
  :: n == pending && n != 0 && !persisting && counts(p, mark) ->
     collected[p].first = a_; collected[p].second = b_;
     collected[p].third = c_; collected[p].fourth = d_;
     collected[p].stamp = mark;
     acknowledged = acknowledged | bit_(p)
  :: else
  fi
}

inline acknowledge(p, n, a_, b_, c_, d_) {
  if
  :: deliver(p, n, stamp[p], a_, b_, c_, d_)
  :: late > 0 && held_id == 0 ->
     late--;
     held_id = n; held_from = p; held.stamp = stamp[p];
     held.first = a_; held.second = b_; held.third = c_; held.fourth = d_
  fi
}

/* ------------------------------------------------------------------------------------------ sources */

proctype Source(byte s) {
  do
  /* No barrier before the journal has been taken again: the join's journal may want a batch from behind it. */
  :: atomic { trigger[s] != 0 && barrier_fits(s) && replayed(s) ->
       if
       :: trigger[s] > begun[s] ->
          begun[s] = trigger[s];
          if
          :: trigger_kind[s] -> queue[s]!UNALIGNED_BARRIER,begun[s]
          :: else -> queue[s]!ALIGNED,begun[s]
          fi;
          acknowledge(s, begun[s], read[s], 0, 0, 0)
       :: else
       fi;
       trigger[s] = 0; trigger_kind[s] = 0 }
  :: atomic { !ended(s) && has_room(s, read[s] + 1) ->
       read[s]++;
       if
       :: read[s] > written[s] -> written[s] = read[s]
       :: else
       fi;
       put(s, read[s], bit_(s * ROWS + read[s] - 1)) }
  :: done -> break
  od
}

/* ------------------------------------------------------------------------------------------ join */

inline freeze(s0, s1) { frozen[0] = s0; frozen[1] = s1 }

inline leave() { aligning = 0; arrived = 0; recording = 0; freeze(0, 0); channel_state[0] = 0; channel_state[1] = 0 }

inline join_done() {
  if
  :: arrived == 3 && recording ->
#ifdef MUTANT_NO_CHANNEL_STATE
     channel_state[0] = 0; channel_state[1] = 0;
#endif
     acknowledge(JOIN, aligning, frozen[0], frozen[1], channel_state[0], channel_state[1]); leave()
  :: arrived == 3 && !recording ->
     queue[2]!ALIGNED,aligning; queue[3]!ALIGNED,aligning;
     acknowledge(JOIN, aligning, applied[0], applied[1], 0, 0); leave()
  :: else
  fi
}

/* The join's side of one of its inputs. */
proctype Input(byte i) {
  do
  /* A unit: taken, journalled (I39); emitted by the step after it. */
  :: atomic { flight == 0 && batch_first(i) && (recording || !(arrived & bit_(i))) && its_turn(i) ->
       queue[i]?g_x,flight;
       assert(g_x == applied[i] + 1 || I23_no_gap);
       applied[i] = g_x;
       if
       :: recording && !(arrived & bit_(i)) -> channel_state[i] = channel_state[i] | bit_(g_x - 1)
       :: else
       fi;
       if
       :: taken > journalled ->
#ifdef MUTANT_JOURNAL_LATE
          unlogged = i + 1
#else
          journal = journal | (i << (taken - 1));
          journalled = taken
#endif
       :: else
       fi;
       g_x = 0 }
  /* An aligned barrier is obeyed at the head of its queue; a dead one is swallowed. */
  :: atomic { flight == 0 && queue[i]?[ALIGNED, _] && (recording || !(arrived & bit_(i))) && barrier_fits(2) && barrier_fits(3) ->
       queue[i]?_,g_n;
       if
       :: g_n == aligning -> arrived = arrived | bit_(i); join_done()
       :: g_n != aligning && g_n <= begun[JOIN]
       :: g_n > begun[JOIN] && g_n <= dead -> begun[JOIN] = g_n; leave()
       :: g_n > begun[JOIN] -> /* also a newer one during an alignment (O4.8) */
          leave(); begun[JOIN] = g_n; aligning = g_n; arrived = bit_(i);
#ifdef MUTANT_NO_ALIGNMENT
          arrived = 3;
#endif
          join_done()
       fi;
       g_n = 0 }
  /* An unaligned barrier is obeyed when it arrives, which is at any time. */
  :: atomic { flight == 0 && queue[i]??[UNALIGNED_BARRIER, _] && barrier_fits(2) && barrier_fits(3) ->
       d_step { overtake(i) };
       if
       :: closes(g_n) ->
          if
          :: !(arrived & bit_(i)) -> channel_state[i] = channel_state[i] | g_set
          :: else
          fi;
          arrived = arrived | bit_(i); join_done()
       :: !closes(g_n) && g_n <= begun[JOIN]
       :: g_n > begun[JOIN] && g_n <= dead -> begun[JOIN] = g_n; leave()
       :: g_n > begun[JOIN] ->
          leave(); begun[JOIN] = g_n; aligning = g_n; arrived = bit_(i); recording = 1;
          freeze(applied[0], applied[1]);
          channel_state[i] = g_set;
          queue[2]!UNALIGNED_BARRIER,g_n; queue[3]!UNALIGNED_BARRIER,g_n
       fi;
       g_n = 0; g_set = 0 }
  :: done -> break
  od
}

proctype Output() {
  do
  :: atomic { flight != 0 && has_room(2, taken) && has_room(3, taken) ->
       /* A number that somebody has seen means the same content for ever (I22, I39). */
       assert((taken > received[2] && taken > received[3]) || segment[taken] == flight || I39_same_content);
       segment[taken] = flight;
       put(2, taken, flight);
       put(3, taken, flight);
       flight = 0 }
#ifdef MUTANT_JOURNAL_LATE
  :: atomic { flight == 0 && unlogged -> journal = journal | ((unlogged - 1) << (taken - 1)); journalled = taken; unlogged = 0 }
#endif
#ifdef SWITCHES
  /* The alignment has lasted too long: on the spot it becomes an unaligned one. */
  :: atomic { switches > 0 && aligning && !recording && flight == 0 && barrier_fits(2) && barrier_fits(3) ->
       switches--;
       recording = 1;
       freeze(applied[0], applied[1]);
       queue[2]!UNALIGNED_BARRIER,aligning; queue[3]!UNALIGNED_BARRIER,aligning }
#endif
#ifndef MUTANT_ABORT_NOT_SENT
  /* The abort arrives (I13). */
  :: atomic { aligning != 0 && aligning <= dead -> leave() }
#endif
  :: done -> break
  od
}

/* ------------------------------------------------------------------------------------------ sinks */

inline sink_snapshot(p) {
  begun[p] = g_n;
  if
  :: p == SINK ->
     /* Everything staged since the last completed one, aborted ones' pieces again (I14). */
     staged_old = staged_old | staged_new;
     staged_new = 0;
     acknowledge(p, g_n, applied[2], staged_old, g_set, since)
  :: else -> acknowledge(p, g_n, applied[3], 0, g_set, 0)
  fi
}

proctype Sink(byte p) {
  do
  :: atomic { batch_first(p - 1) ->
       queue[p - 1]?g_x,g_y;
#ifndef MUTANT_NO_DEDUP
       assert(g_x == applied[p - 1] + 1 || I23_no_gap);
#endif
       if
       :: g_x > applied[p - 1] -> applied[p - 1] = g_x
       :: else
       fi;
       if
       :: p == SINK && (g_y & (staged_old | staged_new)) -> staged_new = staged_new | TWICE
       :: p == SINK && !(g_y & (staged_old | staged_new)) -> staged_new = staged_new | g_y
       :: else -> shown_by_sibling = shown_by_sibling | g_y
       fi;
       g_x = 0; g_y = 0 }
  :: atomic { queue[p - 1]?[ALIGNED, _] ->
       queue[p - 1]?_,g_n;
       if
       :: g_n <= begun[p]
       :: g_n > begun[p] && g_n <= dead -> begun[p] = g_n
       :: g_n > begun[p] -> sink_snapshot(p)
       fi;
       g_n = 0 }
  :: atomic { queue[p - 1]??[UNALIGNED_BARRIER, _] ->
       d_step { overtake(p - 1) };
       if
       :: g_n <= begun[p]
       :: g_n > begun[p] && g_n <= dead -> begun[p] = g_n
       :: g_n > begun[p] ->
#ifdef MUTANT_NO_CHANNEL_STATE
          g_set = 0;
#endif
          sink_snapshot(p)
       fi;
       g_n = 0; g_set = 0 }
  /* The notice of a completion: it may be late, it may never come. */
  :: atomic { p == SINK && since < completed && begun[SINK] == completed -> since = completed; staged_old = 0 }
#ifdef MUTANT_ABORT_DROPS_PIECES
  :: atomic { p == SINK && since < begun[SINK] && begun[SINK] <= dead && staged_old -> staged_old = 0 }
#endif
  :: done -> break
  od
}

/* ------------------------------------------------------------------------------------------ coordinator */

inline forget_pending() {
  d_step {
    pending = 0; acknowledged = 0; persisting = 0; trigger_lost = 0;
    g_i = 0;
    do
    :: g_i < 5 ->
       collected[g_i].first = 0; collected[g_i].second = 0; collected[g_i].third = 0;
       collected[g_i].fourth = 0; collected[g_i].stamp = 0;
       g_i++
    :: else -> break
    od;
    g_i = 0
  }
}

inline abort_pending() {
  if
  :: pending ->
     dead = pending;
#ifdef MUTANT_ID_REUSED
     last_id = pending - 1; dead = last_id;
     begun[0] = dead; begun[1] = dead; begun[2] = dead; begun[3] = dead; begun[4] = dead;
     leave();
#endif
     forget_pending()
  :: else
  fi
}

/* I8: up to what the receiver applied, with the channel state: every number up to the sender's once. While the sender
 * catches up with a surviving receiver it may be more (I22). */
inline check_cut(ch, sent, got, state) {
  assert((state & up_to(got)) == 0 || I8_consistent_cut);
  assert((up_to(got) | state) == up_to(sent) || redo[ch] || I8_consistent_cut);
  assert(!redo[ch] || (((up_to(got) | state) & up_to(sent)) == up_to(sent)) || I8_consistent_cut);
  assert((((up_to(got) | state) + 1) & (up_to(got) | state)) == 0 || I8_consistent_cut)
}

/* The store's one act (I10) and what follows from it in the record. */
inline publish(from, n) {
  d_step {
    assert(n > completed || I17_newest);
    g_i = 0;
    do
    :: g_i < 5 ->
       record[g_i].first = collected[from + g_i].first; record[g_i].second = collected[from + g_i].second; record[g_i].third = collected[from + g_i].third;
       record[g_i].fourth = collected[from + g_i].fourth; record[g_i].stamp = collected[from + g_i].stamp;
       g_i++
    :: else -> break
    od;
    previous[n] = completed;
    rows[n] = collected[from + SINK].second;
    life[n] = collected[from + SINK].stamp;
    /* By the pieces' names (the life is in them): what completed records after `since` contain is not said twice. */
#ifndef MUTANT_NO_SUBTRACTION
    g_i = collected[from + SINK].fourth + 1;
    do
    :: g_i < n ->
       if
       :: (were_completed & bit_(g_i)) && life[g_i] == life[n] -> rows[n] = rows[n] & ~rows[g_i]
       :: else
       fi;
       g_i++
    :: else -> break
    od;
#endif
    redo[0] = redo[0] && received[0] > read[0];
    redo[1] = redo[1] && received[1] > read[1];
    redo[2] = redo[2] && received[2] > emitted;
    redo[3] = redo[3] && received[3] > emitted;
    completed = n;
    were_completed = were_completed | bit_(n);
    /* Journal and exchange are forgotten up to what nobody can ask for again. */
    g_k = record[JOIN].first + record[JOIN].second;
    if
    :: journalled >= g_k -> journal = journal & ~up_to(g_k)
    :: else
    fi;
    if
    :: record[SINK].first < g_k -> g_k = record[SINK].first
    :: else
    fi;
    if
    :: record[SIBLING].first < g_k -> g_k = record[SIBLING].first
    :: else
    fi;
    do
    :: g_k > 0 -> segment[g_k] = 0; g_k--
    :: else -> break
    od;
    g_i = 0
  }
}

proctype Coordinator() {
  do
  /* Trigger: one checkpoint at a time; the final one when all sources have ended, until a record shows it (O1.6). */
  :: atomic { pending == 0 && !final_record && (triggered < PERIODIC || (ended(0) && ended(1))) ->
       if
       :: ended(0) && ended(1) -> g_x = 0
       :: triggered < PERIODIC && !(ended(0) && ended(1)) ->
          triggered++;
#ifdef UNALIGNED
          g_x = 1
#endif
#ifdef MIXED
          if
          :: g_x = 1
          :: g_x = 0
          fi
#endif
       fi;
       last_id++;
       pending = last_id;
       assert(last_id < IDS || I50_ids_run_out);
#ifndef MUTANT_ID_REUSED
       assert(last_id > highest_id_ever || I11_ids_grow);
#endif
       highest_id_ever = last_id;
       trigger[0] = pending; trigger_kind[0] = g_x;
       trigger[1] = pending; trigger_kind[1] = g_x;
       g_x = 0;
       if
       :: true
       :: lost > 0 -> lost--; trigger[0] = 0; trigger_kind[0] = 0; trigger_lost = 1
       :: lost > 0 -> lost--; trigger[1] = 0; trigger_kind[1] = 0; trigger_lost = 1
       fi }
  /* All in: the record goes to the store. From here only the store decides. */
  :: atomic { pending && acknowledged == EVERYONE && !persisting -> persisting = 1 }
  :: atomic { persisting ->
       /* I9: exactly the lives that now are. */
       assert(acknowledged == EVERYONE || I9_complete);
       assert((collected[0].stamp == stamp[0] && collected[1].stamp == stamp[1]) || I9_complete);
       assert((collected[2].stamp == stamp[2] && collected[3].stamp == stamp[3]) || I9_complete);
       assert(collected[4].stamp == stamp[4] || I9_complete);
       check_cut(0, collected[0].first, collected[JOIN].first, collected[JOIN].third);
       check_cut(1, collected[1].first, collected[JOIN].second, collected[JOIN].fourth);
       check_cut(2, collected[JOIN].first + collected[JOIN].second, collected[SINK].first, collected[SINK].third);
       check_cut(3, collected[JOIN].first + collected[JOIN].second, collected[SIBLING].first, collected[SIBLING].third);
       publish(0, pending);
       forget_pending() }
  /* Commit, oldest first, the next after the confirmation of the one before; again when no answer came (I29, I30). */
  :: atomic { confirmed < completed && commit_id == 0 ->
       g_n = confirmed + 1;
       do
       :: !(were_completed & bit_(g_n)) -> g_n++
       :: else -> break
       od;
       commit_id = g_n; commit_rows = rows[g_n]; commit_incarnation = incarnation;
       g_n = 0 }
#ifdef MUTANT_COMMIT_BEFORE_COMPLETION
  :: atomic { confirmed == completed && commit_id == 0 && acknowledged == EVERYONE && !persisting && pending > ledger ->
       commit_id = pending; commit_rows = collected[SINK].second; commit_incarnation = incarnation;
       previous[pending] = completed }
#endif
  /* A late acknowledgement arrives, perhaps not for the last time. */
  :: atomic { held_id != 0 ->
       deliver(held_from, held_id, held.stamp, held.first, held.second, held.third, held.fourth);
       if
       :: repeats > 0 -> repeats--
       :: held_id = 0; held_from = 0; held.first = 0; held.second = 0; held.third = 0; held.fourth = 0; held.stamp = 0
       fi }
  /* The checkpoint's time is over. */
  :: atomic { pending && !persisting && (trigger_lost || held_id == pending || expiries > 0) ->
       if
       :: trigger_lost || held_id == pending
       :: else -> expiries--
       fi;
       abort_pending() }
  /* I43: success after the confirmation of the last commit, and then everything is there (I1). */
  :: atomic { final_record && pending == 0 && confirmed == completed && !done ->
       assert((ledger == completed) || I43_success_after_commit);
       assert((visible == ALL_ROWS) || I1_no_loss);
       assert((shown_by_sibling == ALL_ROWS) || I1_no_loss);
       done = 1 }
  :: done -> break
  od
}

/* ------------------------------------------------------------------------------------------ store and target */

/* One transaction of the target: rows and ledger row. */
inline transact(n, content, by) {
  if
  :: by < ledger_incarnation /* refused (I34) */
#ifdef MUTANT_NO_LEDGER
  :: by >= ledger_incarnation ->
#else
  :: by >= ledger_incarnation && n <= ledger -> ledger_incarnation = by
  :: by >= ledger_incarnation && n > ledger ->
     assert(previous[n] == ledger || I30_in_order);
#endif
     assert((were_completed & bit_(n)) || I27_commit_of_completed);
     assert(content == rows[n] || I5_no_phantom);
     assert(!(content & TWICE) || I2_no_duplicate);
     assert(!(content & visible) || I2_no_duplicate);
     visible = visible | content;
     ledger_incarnation = by;
     ledger = n
  fi
}

proctype Target() {
  do
  :: atomic { commit_id != 0 ->
       transact(commit_id, commit_rows, commit_incarnation);
       if
       :: commit_id > confirmed && (were_completed & bit_(commit_id)) -> confirmed = commit_id
       :: commit_id > confirmed && lost > 0 -> lost-- /* the confirmation is lost */
       :: else
       fi;
       if
       :: repeats > 0 -> repeats--
       :: commit_id = 0; commit_rows = 0; commit_incarnation = 0
       fi }
  :: atomic { commit_id != 0 && lost > 0 -> lost--; commit_id = 0; commit_rows = 0; commit_incarnation = 0 }
  :: atomic { old_commit_id != 0 ->
       transact(old_commit_id, old_commit_rows, old_commit_incarnation);
       old_commit_id = 0; old_commit_rows = 0; old_commit_incarnation = 0 }
  /* A record of an older incarnation reaches the store. */
  :: atomic { zombie_id != 0 ->
       if
#ifdef MUTANT_NOT_FENCED
       :: publish(OLD, zombie_id)
#else
       :: zombie_incarnation >= incarnation -> publish(OLD, zombie_id)
       :: zombie_incarnation < incarnation /* refused (I34) */
#endif
       fi;
       zombie_id = 0; zombie_incarnation = 0;
       g_i = 0;
       do
       :: g_i < 5 ->
          collected[OLD + g_i].first = 0; collected[OLD + g_i].second = 0; collected[OLD + g_i].third = 0; collected[OLD + g_i].fourth = 0; collected[OLD + g_i].stamp = 0;
          g_i++
       :: else -> break
       od;
       g_i = 0 }
  :: done -> break
  od
}

/* ------------------------------------------------------------------------------------------ failure and restart */

/* The receiver's channel state is queued again, first and in order (I25); with retained channels the sender's
 * batches after it follow. */
inline refill(ch, state) {
  g_k = 1;
  received[ch] = applied[ch];
  redo[ch] = 0;
  do
  :: g_k <= OUTPUTS ->
     if
     :: state & bit_(g_k - 1) ->
        received[ch] = g_k;
        if
        :: ch < 2 -> queue[ch]!g_k,bit_(ch * ROWS + g_k - 1)
        :: else -> queue[ch]!g_k,segment[g_k]
        fi
     :: else
     fi;
     g_k++
  :: else -> break
  od;
  g_k = 0
}

inline drain(ch) {
  do
  :: nempty(queue[ch]) -> queue[ch]?g_x,g_y
  :: empty(queue[ch]) -> break
  od;
  g_x = 0; g_y = 0
}

#ifdef RETAIN
inline send_again(ch, sent) {
  do
  :: received[ch] < sent ->
     received[ch] = received[ch] + 1;
     if
     :: ch < 2 -> queue[ch]!received[ch],bit_(ch * ROWS + received[ch] - 1)
     :: else -> queue[ch]!received[ch],segment[received[ch]]
     fi
  :: else -> break
  od
}
#endif

/* Only the sender restarts: what was on its way to the survivor is lost, from any item on; but what it had sent
 * before the restored checkpoint has arrived, since the barrier behind it has (channels are FIFO). */
inline keep_some(ch, sent) {
  received[ch] = applied[ch];
  g_k = len(queue[ch]);
  do
  :: g_k > 0 ->
     queue[ch]?g_x,g_y;
     g_k--;
     if
     :: g_end == 0 ->
        queue[ch]!g_x,g_y;
        if
        :: g_x != ALIGNED && g_x != UNALIGNED_BARRIER -> received[ch] = g_x
        :: else
        fi
     :: g_end || received[ch] >= sent -> g_end = 1
     fi
  :: else -> break
  od;
  redo[ch] = (received[ch] > sent);
  g_k = 0; g_x = 0; g_y = 0; g_end = 0
}

/* Restores the subtasks of the set g_set from the newest record, and mends the channels at its rim. */
inline restart() {
#ifndef MUTANT_RESTART_KEEPS_PENDING
  assert(pending == 0 || I24_abort_first);
#endif
  d_step {
    g_i = 0;
    do
    :: g_i < 5 ->
       if
       :: g_set & bit_(g_i) -> begun[g_i] = completed; stamp[g_i]++
       :: else
       fi;
       g_i++
    :: else -> break
    od;
    g_i = 0;
    if
    :: g_set & bit_(0) -> read[0] = record[0].first; trigger[0] = 0; trigger_kind[0] = 0
    :: else
    fi;
    if
    :: g_set & bit_(1) -> read[1] = record[1].first; trigger[1] = 0; trigger_kind[1] = 0
    :: else
    fi;
    if
    :: g_set & bit_(JOIN) ->
       drain(0); drain(1);
       applied[0] = record[JOIN].first; applied[1] = record[JOIN].second;
       flight = 0;
#ifdef MUTANT_JOURNAL_LATE
       unlogged = 0;
#endif
       leave();
       refill(0, record[JOIN].third); refill(1, record[JOIN].fourth);
#ifdef RETAIN
       send_again(0, read[0]); send_again(1, read[1])
#endif
    :: else
    fi;
    if
    :: g_set & bit_(SINK) ->
       drain(2);
       applied[2] = record[SINK].first;
       staged_old = 0; staged_new = 0; since = completed;
       refill(2, record[SINK].third);
#ifdef RETAIN
       send_again(2, emitted)
#endif
    :: else
    fi;
    if
    :: g_set & bit_(SIBLING) ->
       drain(3);
       applied[3] = record[SIBLING].first;
       refill(3, record[SIBLING].third);
#ifdef RETAIN
       send_again(3, emitted)
#endif
    :: else
    fi
  };
  if
  :: (g_set & bit_(0)) && !(g_set & bit_(JOIN)) -> keep_some(0, read[0])
  :: else
  fi;
  if
  :: (g_set & bit_(1)) && !(g_set & bit_(JOIN)) -> keep_some(1, read[1])
  :: else
  fi;
  if
  :: (g_set & bit_(JOIN)) && !(g_set & bit_(SINK)) -> keep_some(2, taken)
  :: else
  fi;
  if
  :: (g_set & bit_(JOIN)) && !(g_set & bit_(SIBLING)) -> keep_some(3, taken)
  :: else
  fi;
  g_set = 0
}

inline copy_zombie() {
  d_step {
    g_i = 0;
    do
    :: g_i < 5 ->
       collected[OLD + g_i].first = collected[g_i].first; collected[OLD + g_i].second = collected[g_i].second;
       collected[OLD + g_i].third = collected[g_i].third; collected[OLD + g_i].fourth = collected[g_i].fourth;
       collected[OLD + g_i].stamp = collected[g_i].stamp;
       g_i++
    :: else -> break
    od;
    g_i = 0
  }
}

proctype World() {
  do
  /* A subtask fails: abort first (I24), then its region (I20): itself, and its ancestors where nothing is retained.
   * While the store has not answered nobody can say whether the pending one is dead, so the restart waits. */
  :: atomic { failures > 0 && may_restart ->
       failures--;
#ifdef MUTANT_ABORT_WHILE_PERSISTING
       if
       :: persisting ->
          zombie_id = pending; zombie_incarnation = incarnation; copy_zombie()
       :: else
       fi;
#endif
#ifndef MUTANT_RESTART_KEEPS_PENDING
       abort_pending();
#endif
       if
       :: g_set = bit_(0)
       :: g_set = bit_(1)
#ifdef RETAIN
       :: g_set = bit_(JOIN)
       :: g_set = bit_(SINK)
       :: g_set = bit_(SIBLING)
#else
       :: g_set = 7
       :: g_set = 7 | bit_(SINK)
       :: g_set = 7 | bit_(SIBLING)
#endif
       fi;
       restart() }
#if CRASHES > 0
  /* The driver dies and the next one claims its incarnation: everything that was not durable is gone. What it had
   * sent to the store or to the target is on its way still. */
  :: atomic { crashes > 0 ->
       crashes--;
       if
       :: persisting && zombie_id == 0 -> zombie_id = pending; zombie_incarnation = incarnation; copy_zombie()
       :: else
       fi;
       if
       :: commit_id != 0 -> old_commit_id = commit_id; old_commit_rows = commit_rows; old_commit_incarnation = commit_incarnation
       :: else
       fi;
       commit_id = 0; commit_rows = 0; commit_incarnation = 0;
       incarnation++;
       dead = last_id;
       forget_pending();
       confirmed = 0;
       d_step {
         g_i = 0;
         do
         :: g_i < 5 -> stamp[g_i] = incarnation * 4; g_i++
         :: else -> break
         od;
         g_i = 0
       };
       g_set = EVERYONE;
       restart() }
#endif
  :: done -> break
  od
}

init {
  atomic {
    run Source(0); run Source(1);
    run Input(0); run Input(1); run Output();
    run Sink(SINK); run Sink(SIBLING);
    run Coordinator(); run Target(); run World()
  }
}
