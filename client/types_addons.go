package client

import "encoding/json"

// Addon is a feature that can be added.
type Addon struct {
	Name    string   `json:"name"`
	For     string   `json:"for,omitempty" jsonschema:"what it is for"`
	State   string   `json:"state" jsonschema:"core, installed, outdated, failed, available or unavailable"`
	Wanted  bool     `json:"wanted,omitempty" jsonschema:"it is rebuilt for another interpreter"`
	Lock    string   `json:"lock,omitempty" jsonschema:"where its versions come from"`
	Missing []string `json:"missing,omitempty" jsonschema:"the packages that are not there"`
	Reason  string   `json:"reason,omitempty" jsonschema:"why it cannot be had"`
}

// AddonList is the features that there are.
type AddonList struct {
	Addons []Addon `json:"addons"`
	// Refusal and Problem are about all of them.
	Refusal string `json:"refusal,omitempty" jsonschema:"why nothing more can be installed"`
	Problem string `json:"problem,omitempty" jsonschema:"why nothing can be told"`
}

// The events of a feature that is installed.
const (
	// EventProgress has an [AddonProgress].
	EventProgress = "progress"
	// EventDone has an [AddonEnsured], and is the last.
	EventDone = "done"
)

// AddonProgress is how far an installation is.
type AddonProgress struct {
	Feature string `json:"feature"`
	Phase   string `json:"phase" jsonschema:"waiting, resolving, downloading, installing, building, checking, publishing or compiling"`
	Done    int    `json:"done,omitempty" jsonschema:"how many packages are done"`
	Total   int    `json:"total,omitempty" jsonschema:"how many there are"`
	Size    int64  `json:"size,omitempty" jsonschema:"the bytes that all of them are to download"`
}

// AddonEnsured says that a feature is there.
type AddonEnsured struct {
	Feature   string `json:"feature"`
	Installed bool   `json:"installed" jsonschema:"it was not there before"`
}

// Tool is what a feature can be asked to do.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input" jsonschema:"the JSON schema of its arguments"`
}

// ToolList is the tools of a feature.
type ToolList struct {
	Feature string `json:"feature" jsonschema:"the one that was asked, where the name meant several"`
	Tools   []Tool `json:"tools"`
}

// ToolResult is what a tool answered. A tool that says it failed has answered.
type ToolResult struct {
	Feature    string          `json:"feature" jsonschema:"the one that answered, where the name meant several"`
	Content    json.RawMessage `json:"content" jsonschema:"content blocks as the Model Context Protocol has them"`
	Structured json.RawMessage `json:"structured,omitempty" jsonschema:"the result as an object, where it has one"`
	Failed     bool            `json:"failed,omitempty" jsonschema:"the tool says that it failed"`
}
