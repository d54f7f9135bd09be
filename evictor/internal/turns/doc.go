// Package turns decides which failed node is acted on next. Nodes wait in their failure domain until its rate, the cap
// on the pace of all domains and the cap on failed nodes leave a turn for them:
//
//	       Wait             Take                  Served
//	well ───────▶ waiting ───────▶ a turn ───────────────────▶ had its turn
//	  ▲  Leave │  ▲                │    │                          │
//	  ├────────┘  └── Again, Later ┘    │ Drop, Unwanted           │ Leave, or Wait for another one
//	  └─────────────────────────────────┴──────────────────────────┘
//
// A node that was acted on before a pause, and whose pods became overdue in it, waits to release them: it goes before
// the others of its domain, fails no other node, and has no more to its turn than that it has come.
//
// Turns holds no lock but that of the queue below it, reads no clock and calls nobody but Config.Prefer, in Take. Its
// owner guards it, and passes in the readings of the clock in their order.
package turns
