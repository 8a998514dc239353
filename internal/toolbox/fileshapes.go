package toolbox

// ReadFileInput asks for a part of a text file.
type ReadFileInput struct {
	Path   string `json:"path" jsonschema:"the file; relative to the session's directory, or absolute, or beginning with ~/"`
	Offset int    `json:"offset,omitempty" jsonschema:"the first line to read, from 1 on; below zero so many lines before the end"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to read at most: 500 unless given, 2000 at the most"`
}

// ReadFileOutput is a part of a text file.
type ReadFileOutput struct {
	Path      string `json:"path" jsonschema:"the file that was read"`
	Content   string `json:"content" jsonschema:"the lines, each as NUMBER|TEXT; the numbers are no part of the file"`
	FirstLine int    `json:"first_line,omitempty" jsonschema:"the number of the first line in content"`
	LastLine  int    `json:"last_line,omitempty" jsonschema:"the number of the last line in content"`
	// TotalLines is missing where it would take reading a large file to its end.
	TotalLines *int     `json:"total_lines,omitempty" jsonschema:"how many lines the file has, if it is known"`
	Size       int64    `json:"size" jsonschema:"bytes of the whole file"`
	NextOffset int      `json:"next_offset,omitempty" jsonschema:"the offset to read on with, if there is more"`
	Notes      []string `json:"notes,omitempty" jsonschema:"what the content does not show: cut lines, line endings, encoding"`
	Recreated  bool     `json:"environment_recreated,omitempty" jsonschema:"the sandbox had ended and was made anew: what was not kept in files is gone"`
}

// WriteFileInput asks for a file with this content.
type WriteFileInput struct {
	Path    string `json:"path" jsonschema:"the file; relative to the session's directory, or absolute, or beginning with ~/. Directories that are missing are made"`
	Content string `json:"content" jsonschema:"the whole content of the file; what was in it is gone"`
}

// WriteFileOutput is what became of it.
type WriteFileOutput struct {
	Path      string   `json:"path" jsonschema:"the file that was written"`
	Bytes     int64    `json:"bytes" jsonschema:"how many bytes it has now"`
	Created   bool     `json:"created" jsonschema:"it did not exist before"`
	Notes     []string `json:"notes,omitempty"`
	Recreated bool     `json:"environment_recreated,omitempty" jsonschema:"the sandbox had ended and was made anew: what was not kept in files is gone"`
}

// PatchInput asks for a change of files, in one of two forms.
type PatchInput struct {
	// For one place, or several alike, of one file.
	Path       string `json:"path,omitempty" jsonschema:"the file to change, together with old_string and new_string"`
	OldString  string `json:"old_string,omitempty" jsonschema:"the text to replace, exactly as it is in the file, with enough around it to be there only once"`
	NewString  string `json:"new_string,omitempty" jsonschema:"the text to put in its place; empty removes it"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace it everywhere in the file"`
	// For several files at once.
	Patch string `json:"patch,omitempty" jsonschema:"instead of the others: a patch of one or more files, as a unified diff or between *** Begin Patch and *** End Patch. All of it is applied or nothing"`
}

// PatchOutput is what was changed.
type PatchOutput struct {
	Files     []PatchedFile `json:"files" jsonschema:"the files that were changed"`
	Diff      string        `json:"diff" jsonschema:"what changed, as a unified diff"`
	Notes     []string      `json:"notes,omitempty" jsonschema:"where the match was not exact, and what else there is to know"`
	Recreated bool          `json:"environment_recreated,omitempty" jsonschema:"the sandbox had ended and was made anew: what was not kept in files is gone"`
}

// PatchedFile is one of them.
type PatchedFile struct {
	Path    string `json:"path"`
	Change  string `json:"change" jsonschema:"changed, created, deleted or renamed"`
	To      string `json:"to,omitempty" jsonschema:"the new name of a renamed file"`
	Added   int    `json:"added" jsonschema:"lines added"`
	Removed int    `json:"removed" jsonschema:"lines removed"`
}

// SearchFilesInput asks for lines, or for files by their names.
type SearchFilesInput struct {
	Pattern    string `json:"pattern" jsonschema:"content: a regular expression in RE2 syntax, matched line by line. names: a glob like *.go or src/**/test_*.py"`
	Target     string `json:"target,omitempty" jsonschema:"content (which it is unless given) or names"`
	Path       string `json:"path,omitempty" jsonschema:"the directory or file to search; the session's directory unless given"`
	FileGlob   string `json:"file_glob,omitempty" jsonschema:"content: only files whose names match this glob, like *.py"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"upper and lower case are the same"`
	OutputMode string `json:"output_mode,omitempty" jsonschema:"content: what to answer with: content (lines, which it is unless given), files (their names) or count (matching lines of each file)"`
	Context    int    `json:"context,omitempty" jsonschema:"content: so many lines before and after each match, 20 at the most"`
	Limit      int    `json:"limit,omitempty" jsonschema:"how many matches or files at most: 50 unless given, 1000 at the most"`
	Offset     int    `json:"offset,omitempty" jsonschema:"how many matches or files to pass over, to read on"`
}

// SearchFilesOutput is what was found, in the order of the files' names.
type SearchFilesOutput struct {
	Matches []SearchMatch `json:"matches,omitempty" jsonschema:"lines that match"`
	Files   []FoundFile   `json:"files,omitempty" jsonschema:"files that match"`
	// Total is of what was looked at.
	Total      int      `json:"total" jsonschema:"how many matches or files there are, at least"`
	Complete   bool     `json:"complete" jsonschema:"total is all that there is"`
	NextOffset int      `json:"next_offset,omitempty" jsonschema:"the offset to read on with, if there is more"`
	Notes      []string `json:"notes,omitempty" jsonschema:"what was left out, and why"`
	Recreated  bool     `json:"environment_recreated,omitempty" jsonschema:"the sandbox had ended and was made anew: what was not kept in files is gone"`
}

// SearchMatch is a line.
type SearchMatch struct {
	Path   string   `json:"path"`
	Line   int      `json:"line"`
	Text   string   `json:"text"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// FoundFile is a file.
type FoundFile struct {
	Path  string `json:"path"`
	Count int    `json:"count,omitempty" jsonschema:"how many lines match"`
}

// ListFilesInput asks what is in a directory.
type ListFilesInput struct {
	Path  string `json:"path,omitempty" jsonschema:"the directory; the session's unless given"`
	Depth int    `json:"depth,omitempty" jsonschema:"how many directories deep to list: 1 unless given, 10 at the most"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many entries at most: 200 unless given, 2000 at the most"`
}

// ListFilesOutput is what is in a directory, hidden files among it, sorted by name.
type ListFilesOutput struct {
	Path      string      `json:"path" jsonschema:"the directory that was listed"`
	Entries   []FileEntry `json:"entries"`
	Cut       bool        `json:"cut,omitempty" jsonschema:"there is more than is listed"`
	Notes     []string    `json:"notes,omitempty"`
	Recreated bool        `json:"environment_recreated,omitempty" jsonschema:"the sandbox had ended and was made anew: what was not kept in files is gone"`
}

// FileEntry is something in a directory.
type FileEntry struct {
	Path string `json:"path" jsonschema:"relative to the directory that was listed"`
	Kind string `json:"kind" jsonschema:"file, directory, link or other"`
	Size int64  `json:"size,omitempty" jsonschema:"bytes of a file"`
	Link string `json:"link,omitempty" jsonschema:"where a link leads"`
}
