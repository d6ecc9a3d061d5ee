/*
 * A retry loop: what barriers do where the graph has a cycle (I47, O3.2).
 *
 *     source --forward--> head --> worker --> two-phase sink
 *                          ^          |
 *                          +---back---+        each row goes round once, then to the sink
 *
 * The head does not wait for the back-edge: it records itself at the barrier from the source, and what arrives on the
 * back-edge until the barrier comes round belongs to the cut; it is worked on all the same. A restart is one of all,
 * from the newest record. The final checkpoint is repeated until its record shows an empty loop (O1.6).
 */

#ifndef ROWS
#define ROWS 3
#endif
#ifndef PERIODIC
#define PERIODIC 1
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#define CAPACITY 1 /* of forward channels, in rows */
#define ALL_ROWS ((1 << ROWS) - 1)
#define BARRIER 0
#define FIRST 1
#define AGAIN 2
#define IDS 12
#define LONG (ROWS + 5) /* the back-edge takes what comes: it spills */
#define SOURCE_ 1
#define HEAD_ 2
#define WORKER_ 4
#define SINK_ 8
#define EVERYONE 15

#ifdef EFFECTS
hidden byte I1_no_loss, I2_no_duplicate;
#define I47_loop_in_the_cut 1
#else
hidden byte I1_no_loss, I2_no_duplicate, I47_loop_in_the_cut;
#endif
hidden byte I50_ids_run_out;

chan forward = [3] of { byte, byte };
chan inner = [4] of { byte, byte };
chan outer = [4] of { byte, byte };
chan back = [LONG] of { byte, byte };

byte read, trigger;
byte head_begun, recording, recorded; /* the head's checkpoint whose barrier has not come round, and its record */
byte worker_begun, sink_begun;
byte staged; /* in the sink, since the last completed checkpoint */
byte pending, acknowledged, dead, last_id, triggered;
byte collected_read, collected_back, collected_staged;
byte record_read, record_back, completed;
byte visible;
byte failures = FAILURES, expiries = EXPIRIES;
byte g_x, g_y;
bit done;

#define room(c) (len(c) < CAPACITY)
#ifdef MUTANT_LOOP_BOUNDED
#define room_back (len(back) < CAPACITY)
#else
#define room_back true
#endif
#ifdef MUTANT_LOOP_AWAITED
#define head_may_go_on (recording == 0)
#else
#define head_may_go_on true
#endif
#ifdef MUTANT_LOOP_END_EARLY
#define last_one (completed && record_read == ROWS)
#else
#define last_one (completed && record_read == ROWS && record_back == 0)
#endif

inline ack(who, n) {
  if
  :: n == pending && n != 0 -> acknowledged = acknowledged | who
  :: else
  fi
}

proctype Source() {
  do
  :: atomic { trigger && nfull(forward) ->
       forward!BARRIER,trigger;
       if
       :: trigger == pending -> collected_read = read; ack(SOURCE_, trigger)
       :: else
       fi;
       trigger = 0 }
  :: atomic { read < ROWS && room(forward) -> forward!FIRST,read; read++ }
  :: done -> break
  od
}

proctype Head() {
  do
  :: atomic { forward?[FIRST, _] && head_may_go_on && room(inner) -> forward?g_x,g_y; inner!g_x,g_y; g_x = 0; g_y = 0 }
  :: atomic { forward?[BARRIER, _] && nfull(inner) ->
       forward?_,g_x;
       if
       :: g_x > head_begun -> head_begun = g_x; recording = g_x; recorded = 0;
#ifndef MUTANT_LOOP_AWAITED
          inner!BARRIER,g_x
#endif
       :: else
       fi;
       g_x = 0 }
  :: atomic { back?[AGAIN, _] && room(inner) ->
       back?g_x,g_y;
#ifndef MUTANT_LOOP_LEFT_OUT
       if
       :: recording -> recorded = recorded | (1 << g_y)
       :: else
       fi;
#endif
       inner!g_x,g_y; g_x = 0; g_y = 0 }
  :: atomic { back?[BARRIER, _] ->
       back?_,g_x;
       if
       :: g_x == recording ->
          if
          :: g_x == pending -> collected_back = recorded; ack(HEAD_, g_x)
          :: else
          fi;
          recording = 0; recorded = 0
       :: else
       fi;
       g_x = 0 }
  :: atomic { recording && recording <= dead -> recording = 0; recorded = 0 }
  :: done -> break
  od
}

proctype Worker() {
  do
  :: atomic { inner?[FIRST, _] && room_back -> inner?_,g_y; back!AGAIN,g_y; g_y = 0 }
  :: atomic { inner?[AGAIN, _] && room(outer) -> inner?_,g_y; outer!AGAIN,g_y; g_y = 0 }
  :: atomic { inner?[BARRIER, _] && nfull(back) && nfull(outer) ->
       inner?_,g_x;
       if
       :: g_x > worker_begun -> worker_begun = g_x; back!BARRIER,g_x; outer!BARRIER,g_x; ack(WORKER_, g_x)
       :: else
       fi;
       g_x = 0 }
  :: done -> break
  od
}

proctype Sink() {
  do
  :: atomic { outer?[AGAIN, _] ->
       outer?_,g_y;
       assert(!(staged & (1 << g_y)) || I2_no_duplicate);
       staged = staged | (1 << g_y);
       g_y = 0 }
  :: atomic { outer?[BARRIER, _] ->
       outer?_,g_x;
       if
       :: g_x > sink_begun ->
          sink_begun = g_x;
          if
          :: g_x == pending -> collected_staged = staged; ack(SINK_, g_x)
          :: else
          fi
       :: else
       fi;
       g_x = 0 }
  :: done -> break
  od
}

inline forget() { pending = 0; acknowledged = 0; collected_read = 0; collected_back = 0; collected_staged = 0 }

proctype Coordinator() {
  do
  :: atomic { pending == 0 && !last_one && (triggered < PERIODIC || read == ROWS) ->
       if
       :: triggered < PERIODIC -> triggered++
       :: else
       fi;
       last_id++;
       assert(last_id < IDS || I50_ids_run_out);
       pending = last_id;
       trigger = pending }
  :: atomic { pending && acknowledged == EVERYONE ->
       /* Every row that was read is in the sink (now or before) or in the loop, and in one of them only. */
       assert((visible & collected_staged) == 0 || I2_no_duplicate);
       assert(((visible | collected_staged) & collected_back) == 0 || I47_loop_in_the_cut);
       assert((visible | collected_staged | collected_back) == (1 << collected_read) - 1 || I47_loop_in_the_cut);
       record_read = collected_read; record_back = collected_back; completed = pending;
       visible = visible | collected_staged;
       staged = staged & ~collected_staged;
       forget() }
  :: atomic { pending && expiries > 0 -> expiries--; dead = pending; forget() }
  :: atomic { failures > 0 ->
       failures--;
       if
       :: pending -> dead = pending; forget()
       :: else
       fi;
       d_step {
         do
         :: nempty(forward) -> forward?_,_
         :: empty(forward) -> break
         od;
         do
         :: nempty(inner) -> inner?_,_
         :: empty(inner) -> break
         od;
         do
         :: nempty(outer) -> outer?_,_
         :: empty(outer) -> break
         od;
         do
         :: nempty(back) -> back?_,_
         :: empty(back) -> break
         od;
         read = record_read; trigger = 0; recording = 0; recorded = 0; staged = 0;
         head_begun = last_id; worker_begun = last_id; sink_begun = last_id;
         do
         :: g_y < ROWS ->
            if
            :: record_back & (1 << g_y) -> back!AGAIN,g_y
            :: else
            fi;
            g_y++
         :: else -> break
         od;
         g_y = 0
       } }
  :: atomic { last_one && pending == 0 && !done -> assert(visible == ALL_ROWS || I1_no_loss); done = 1 }
  :: done -> break
  od
}

init { atomic { run Source(); run Head(); run Worker(); run Sink(); run Coordinator() } }
