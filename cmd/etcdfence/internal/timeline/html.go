package timeline

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
)

//go:embed replay.html
var replay string

var replayPage = template.Must(template.New("replay").Parse(replay))

// HTML writes a page that replays the story step by step. It needs nothing but itself: no
// network, and without scripts it still shows all that happened.
func HTML(w io.Writer, s Story) error {
	acts := frames(s)
	data, err := json.Marshal(acts) // escapes <, > and &: it stands in a script
	if err != nil {
		return err
	}
	return replayPage.Execute(w, struct {
		Conclusion, Footer string
		Acts               []actFrames
		Data               template.JS
	}{s.Conclusion(), footer(s, "html"), acts, template.JS(data)})
}
