package page

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
)

func TestZZ(t *testing.T) {
	f := os.Getenv("F")
	if f == "" {
		t.Skip()
	}
	for _, f := range strings.Split(f, ",") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		us := os.Getenv("U")
		if us == "" {
			us = "https://shop.example/p/1"
		}
		u, _ := url.Parse(us)
		q, e := Extract(Input{URL: u, Status: 200, Body: b})
		fmt.Printf("== %s\n%v %v %q %s ev=%q err=%v\n", f, q.Price, q.Availability, q.Name, q.FoundBy, q.Evidence, e)
		for _, c := range q.Candidates {
			fmt.Printf("   %s %v %v %q %s\n", c.FoundBy, c.Won, c.Price, c.Text, c.Why)
		}
		if e != nil {
			d, _ := parse(string(b), u)
			for _, g := range d.sightings() {
				fmt.Printf("   S %v paid=%v strong=%v priced=%v %q %s\n", g.amount, g.paid, g.strong, g.priced, g.text, g.why)
			}
			for _, p := range d.products() {
				fmt.Printf("   P %v %q main=%v listed=%v offers=%d\n", p.types, p.text("name"), p.main, p.listed, len(p.props["offers"]))
			}
		}
	}
}
