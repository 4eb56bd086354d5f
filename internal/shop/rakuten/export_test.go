package rakuten

import "context"

// Find is find, for tests.
func (a *Adapter) Find(ctx context.Context, address string) (string, error) {
	return a.find(ctx, address)
}
