package watch

import "testing"

func TestNamesOfOneProduct(t *testing.T) {
	for _, tc := range []struct {
		a, b        string
		same, close bool
	}{
		{"", "Kettle", true, true},
		{"Tea tin", "Tea tin", true, true},
		{"Tea tin 500 g", "TEA TIN, 500g", true, true},
		{"Tea tin 500 g", "Tea tin 500 g | Example Shop", true, true},
		{"Tea tin 500 g", "【20%OFF】Tea tin 500 g SALE", true, true},
		{"【ポイント10倍】食器用洗剤 1380ml×6個", "【12/4 20:00〜 ポイント5倍】食器用洗剤 1380ml×6個 送料無料", true, true},
		{"食器用洗剤 1380ml×6個", "食器用洗剤 １３８０ｍｌ×６個", true, true},
		{"Kettle 1.2 l", "Electric kettle, 1.2 l, steel", true, false},
		{"Tea", "Tea strainer, steel", true, false},
		{"Nintendo Switch 2", "Nintendo Switch 2 carrying case & screen protector", true, false},
		{"Acme Kettle K100", "Acme Toaster T20", false, false},
		{"Samsung Crystal TV 55 inch CU7100", "Samsung Crystal TV 43 inch CU7100", false, false},
		{"食器用洗剤 1380ml×6個", "食器用洗剤 1380ml×3個", false, false},
		{"Tea tin", "Bicycle pump", false, false},
	} {
		if same, near := SameName(tc.a, tc.b), closeName(tc.a, tc.b); same != tc.same || near != tc.close {
			t.Errorf("%q and %q: same %t, close %t", tc.a, tc.b, same, near)
		}
		if SameName(tc.a, tc.b) != SameName(tc.b, tc.a) || closeName(tc.a, tc.b) != closeName(tc.b, tc.a) {
			t.Errorf("%q and %q: not the same both ways", tc.a, tc.b)
		}
	}
}
