package page

// Drill is what a drill found. The page shows it as text and tables, which need no script.
type Drill struct {
	Title, Advice string
	Losses        Table
	Alarms        *Table // nil if no false alarm evicts a pod; then NoAlarm says so
	NoAlarm       string
	Worst         []Worst
	Settings      Table
	ApplyTitle    string
	Apply         []Apply
	PlayTitle     string
	Play          string // a command
	NotSimulated  string // may be empty
	Charts        string // what the charts below show
}

// Table has a title, a note below, which may be empty, and cells of text.
type Table struct {
	Title, Note string
	Titles      []string
	Rows        [][]string
}

// Worst is one of the worst losses, and whom it hurts.
type Worst struct {
	Title     string
	Workloads []Hurt
	More      string // may be empty, as may OutOfService
	// OutOfService is what the loss costs if its nodes are tainted out of service.
	OutOfService string
}

// Hurt is a workload, and what helps.
type Hurt struct{ Name, State, Because, Refused, Remedy string }

// Apply is how a setting is applied.
type Apply struct {
	Setting string   `json:"setting"`
	Flags   []string `json:"flags"`
	Note    string   `json:"note,omitempty"`
}
