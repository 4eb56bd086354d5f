// Package web holds the app as it is served: HTML, CSS, ES modules, service
// worker, icons and vendored libraries, embedded as they lie here. There is no
// build step.
package web

import "embed"

//go:embed index.html sw.js manifest.webmanifest robots.txt css js icons/*.png icons/*.svg screenshots/*.png third_party/*.mjs third_party/*.txt
var files embed.FS
