package browser

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
)

// Directories to which pictures are written: of every test, and those that README and docs show.
const (
	shotsVariable  = "HERMES_BROWSER_SHOTS"
	imagesVariable = "HERMES_BROWSER_IMAGES"
)

// largestImage is what a picture of the docs may weigh.
const largestImage = 150 << 10

// shot keeps a picture of the page as output of the test.
func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv(shotsVariable)
	if dir == "" {
		dir = p.t.ArtifactDir()
	}
	p.write(filepath.Join(dir, strings.ReplaceAll(p.t.Name(), "/", "_")+"-"+name+".png"))
}

// image is a picture for the docs, taken only when somebody asks for it.
func (p *tab) image(name string) {
	p.t.Helper()
	dir := os.Getenv(imagesVariable)
	if dir == "" {
		p.shot(name)
		return
	}
	if size := p.write(filepath.Join(dir, name+".png")); size > largestImage {
		p.t.Errorf("the picture %s has %d bytes, more than %d", name, size, largestImage)
	}
}

func (p *tab) write(path string) int {
	p.t.Helper()
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, picture, 0o644)
	}
	if err != nil {
		p.t.Logf("no picture: %v", err)
	}
	return len(picture)
}
