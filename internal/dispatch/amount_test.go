package dispatch_test

import (
	"strconv"

	"github.com/sokone/sokone/internal/money"
)

func amount(yen int) money.Amount { return money.MustParse(strconv.Itoa(yen), "JPY") }
