-- What a price was read from, what a shopper knows better than the page, and
-- which product a page is about.

-- +goose Up

ALTER TABLE listings ADD COLUMN evidence TEXT NOT NULL DEFAULT ''; -- of the price: a snippet of the page
ALTER TABLE listings ADD COLUMN since TEXT;                        -- when it became this product, in this currency; NULL for always
ALTER TABLE listings ADD COLUMN resting_until TEXT;                -- the shop is left alone until then

ALTER TABLE prices ADD COLUMN found_by TEXT NOT NULL DEFAULT '';
ALTER TABLE prices ADD COLUMN evidence TEXT NOT NULL DEFAULT '';

ALTER TABLE watches ADD COLUMN quantity TEXT NOT NULL DEFAULT '';      -- the content as its owner corrected it
ALTER TABLE watches ADD COLUMN quantity_unit TEXT NOT NULL DEFAULT '';
ALTER TABLE watches ADD COLUMN product TEXT NOT NULL DEFAULT '';       -- what it was made for, where the page shows another

-- +goose Down
ALTER TABLE watches DROP COLUMN product;
ALTER TABLE watches DROP COLUMN quantity_unit;
ALTER TABLE watches DROP COLUMN quantity;
ALTER TABLE prices DROP COLUMN evidence;
ALTER TABLE prices DROP COLUMN found_by;
ALTER TABLE listings DROP COLUMN resting_until;
ALTER TABLE listings DROP COLUMN since;
ALTER TABLE listings DROP COLUMN evidence;
