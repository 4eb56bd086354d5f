// Command cases tries the page adapter on a folder of cases and prints, for each
// kind, the share that is exactly right, refused, and wrong.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/sokone/sokone/internal/shop/page"
)

func main() {
	dir := flag.String("dir", "internal/shop/page/testdata", "the folder of cases")
	verbose := flag.Bool("v", false, "list what is not right")
	flag.Parse()
	results, err := page.RunCases(os.DirFS(*dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, "cases:", err)
		os.Exit(2)
	}
	if len(results) == 0 {
		fmt.Fprintf(os.Stderr, "cases: there are none in %s\n", *dir)
		os.Exit(2)
	}
	if *verbose {
		for _, r := range results {
			if r.Verdict != page.Right {
				fmt.Printf("%-7s %-7s %s\n        got  %s\n        want %s\n", []string{"right", "refused", "WRONG"}[r.Verdict], r.Kind, r.Name, r.Got, r.Want)
			}
		}
	}
	kinds, counts := page.Scores(results)
	fmt.Printf("%-8s %6s %9s %9s %9s\n", "kind", "cases", "right", "refused", "wrong")
	for _, k := range kinds {
		c := counts[k]
		n := c[0] + c[1] + c[2]
		share := func(i int) string { return fmt.Sprintf("%.1f %%", 100*float64(c[i])/float64(n)) }
		fmt.Printf("%-8s %6d %9s %9s %9s\n", k, n, share(0), share(1), share(2))
	}
}
