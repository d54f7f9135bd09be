// Package slots is the machine below ratelimitqueue and timedworker: it keeps at most one item for each key, and knows
// the life of each. One package adds the tokens that let an item go, the other the workers that carry it out.
//
//	          Add               Hand
//	Unknown ------> Waiting ------------> InFlight ----------> Finished
//	   ^               ^                   |    |     Done         |
//	   |               +-------------------+    |                  |
//	   |       Retry, RetryAfter, Blocked       | Forget           | Remove
//	   +----------------------------------------+------------------+
//
// Who was handed an item holds it until he ends it. If its key is removed meanwhile, he does so in vain, but nobody
// else is handed the key before that.
//
// A Table is guarded by its Mutex. Unless they say otherwise, its methods are called with that held, and nobody calls
// the user's code with it held.
package slots
