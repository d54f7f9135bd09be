package page

// Drill is what a drill found. The page shows it as text and tables, which need no script.
type Drill struct {
	Title        string
	Headline     string // what the worst loss costs
	Helps        string // most, against that loss
	Advice       string // about settings
	Losses       Table
	Alarms       *Table // nil if no false alarm evicts a pod; then NoAlarm says so
	NoAlarm      string
	Worst        []Worst
	Settings     Table
	ApplyTitle   string
	Apply        []Apply
	PlayTitle    string
	Play         string // a command
	NotSimulated string // may be empty
	Charts       string // what the charts below show
}

// Table has a title, a note below, which may be empty, and cells of text.
type Table struct {
	Title, Note string
	Titles      []string
	Rows        [][]string
}

// Worst is one of the worst losses, and what it breaks.
type Worst struct {
	Title    string
	Groups   []Group
	Together string // what it costs with the best remedies; may be empty
}

// Group is what a loss breaks for one cause, and what helps. Refused, NoRemedy and a note may be empty.
type Group struct {
	Title, Refused, NoRemedy string
	Workloads                []string
	Effects                  Table // of the remedies
	Remedies                 []Remedy
	Notes                    []string
}

// Remedy is how one is applied: YAML or commands, and what must be known before.
type Remedy struct{ Name, How, But string }

// Apply is how a setting is applied.
type Apply struct {
	Setting string   `json:"setting"`
	Flags   []string `json:"flags"`
	Note    string   `json:"note,omitempty"`
}
