package dispatch

import (
	"testing"
	"time"

	"github.com/sokone/sokone/internal/money"
	"github.com/sokone/sokone/internal/outbox"
	"github.com/sokone/sokone/internal/watch"
)

func yen(n string) money.Amount { return money.MustParse(n, "JPY") }

func TestWords(t *testing.T) {
	price := yen("880")
	since := time.Date(2026, 9, 30, 20, 0, 0, 0, time.UTC) // 1 October in Tokyo
	for _, tc := range []struct {
		trigger watch.TriggerType
		why     watch.Why
		en, ja  string
	}{
		{watch.TargetPrice, watch.Why{Price: price, Target: yen("900")}, "At or below your price of ¥900.", "目標の￥900以下になりました。"},
		{watch.PriceDrop, watch.Why{Price: price, Reference: yen("1000")}, "Down from ¥1,000 (−12%).", "￥1,000から12%下がりました。"},
		{watch.LowestInDays, watch.Why{Price: price, Lowest: yen("890"), LowestSince: since}, "The lowest since 1 Oct. Before: ¥890.", "10月1日以降の最安値です(これまで￥890)。"},
		{watch.UnitPrice, watch.Why{Price: price, UnitPrice: yen("88"), Unit: "100 g", Target: yen("90")}, "¥88 per 100 g. Your price: ¥90.", "￥88(100gあたり)。目標は￥90です。"},
		{watch.BackInStock, watch.Why{Price: price}, "Back in stock.", "在庫が戻りました。"},
		{watch.Readable, watch.Why{Price: price}, "The price can be read again.", "価格を再び確認できるようになりました。"},
	} {
		for locale, want := range map[string]string{"en": tc.en, "ja": tc.ja, "ja-JP": tc.ja, "fr": tc.en} {
			j := outbox.Job{Entry: outbox.Entry{Trigger: tc.trigger}, User: watch.User{Locale: locale, Timezone: "Asia/Tokyo"},
				Watch: watch.Watch{Basis: watch.BasisPrice}, Listing: watch.Listing{Name: "Tea tin"}}
			_, body := Words(j, outbox.Checked{Price: price, Why: tc.why}, nil)
			if locale != "fr" && body != want {
				t.Errorf("%s in %s: %q, want %q", tc.trigger, locale, body, want)
			}
			if body == "" {
				t.Errorf("%s in %s says nothing", tc.trigger, locale)
			}
		}
	}
}

func TestWordsOfAListingThatCannotBeRead(t *testing.T) {
	j := outbox.Job{Entry: outbox.Entry{Trigger: watch.Unreadable}, User: watch.User{Locale: "en", Timezone: "No/Where"}, Listing: watch.Listing{Name: "Tea tin"}}
	c := outbox.Checked{Why: watch.Why{FailingSince: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)}}
	if title, body := Words(j, c, nil); title != "Tea tin" || body != "The price could not be read since 1 Oct. Sokone keeps trying." {
		t.Errorf("%q %q", title, body)
	}
	j.Listing.Paused = true
	if _, body := Words(j, c, nil); body != "The product page is gone, so Sokone has stopped looking." {
		t.Errorf("%q", body)
	}
}

func TestOneMessageTellsAllThatFires(t *testing.T) {
	j := outbox.Job{Entry: outbox.Entry{Trigger: watch.BackInStock}, User: watch.User{Locale: "en"},
		Watch: watch.Watch{Basis: watch.BasisTotal}, Listing: watch.Listing{Name: "Tea tin"}}
	c := outbox.Checked{Price: yen("880"), Why: watch.Why{Price: yen("1180")}}
	also := []watch.Firing{{Trigger: watch.Trigger{Type: watch.TargetPrice}, Why: watch.Why{Target: yen("1200")}}}
	title, body := Words(j, c, also)
	if title != "¥880 · Tea tin" || body != "Back in stock. At or below your price of ¥1,200. With shipping: ¥1,180." {
		t.Errorf("%q %q", title, body)
	}
}

func TestALongNameIsShortened(t *testing.T) {
	long := ""
	for range 500 {
		long += "茶"
	}
	j := outbox.Job{Entry: outbox.Entry{Trigger: watch.BackInStock}, Listing: watch.Listing{Name: long}}
	if title, _ := Words(j, outbox.Checked{}, nil); len([]rune(title)) != maxName {
		t.Errorf("a title of %d characters", len([]rune(title)))
	}
}
