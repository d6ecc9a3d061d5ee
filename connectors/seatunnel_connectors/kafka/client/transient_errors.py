"""Lists the Kafka errors that are transient.

Broker errors follow the protocol's own list of retriable codes (Kafka 4.1), by number: a client may be older than its
broker. One code is omitted: an unknown topic is most often a misspelt name, so it fails at once; the client has looked
for it for 30 seconds by then. One code is added: an unavailable broker, because it may restart.
"""

from __future__ import annotations

PROTOCOL = {
    2: "CORRUPT_MESSAGE",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    8: "BROKER_NOT_AVAILABLE",
    9: "REPLICA_NOT_AVAILABLE",
    13: "NETWORK_EXCEPTION",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    19: "NOT_ENOUGH_REPLICAS",
    20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    41: "NOT_CONTROLLER",
    51: "CONCURRENT_TRANSACTIONS",
    56: "KAFKA_STORAGE_ERROR",
    70: "FETCH_SESSION_ID_NOT_FOUND",
    71: "INVALID_FETCH_SESSION_EPOCH",
    72: "LISTENER_NOT_FOUND",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    78: "OFFSET_NOT_AVAILABLE",
    80: "PREFERRED_LEADER_NOT_AVAILABLE",
    83: "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    84: "ELECTION_NOT_NEEDED",
    88: "UNSTABLE_OFFSET_COMMIT",
    89: "THROTTLING_QUOTA_EXCEEDED",
    100: "UNKNOWN_TOPIC_ID",
    103: "INCONSISTENT_TOPIC_ID",
    106: "FETCH_SESSION_TOPIC_ID_ERROR",
    122: "SHARE_SESSION_NOT_FOUND",
    123: "INVALID_SHARE_SESSION_EPOCH",
    133: "SHARE_SESSION_LIMIT_REACHED",
}
CLIENT = {
    -197: "_DESTROY",
    -195: "_TRANSPORT",
    -193: "_RESOLVE",
    -192: "_MSG_TIMED_OUT",
    -187: "_ALL_BROKERS_DOWN",
    -185: "_TIMED_OUT",
    -184: "_QUEUE_FULL",
    -183: "_ISR_INSUFF",
    -180: "_WAIT_COORD",
    -166: "_TIMED_OUT_QUEUE",
    -164: "_WAIT_CACHE",
    -163: "_INTR",
    -153: "_RETRY",
    -137: "_DESTROY_BROKER",
}
"""librdkafka's own errors that pass when the broker comes back."""
PASSING = frozenset(PROTOCOL) | frozenset(CLIENT)
