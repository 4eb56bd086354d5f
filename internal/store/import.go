package store

import (
	"context"

	"github.com/sokone/sokone/internal/watch"
)

// ImportWatches stores watches with listings that no poll has read yet; those
// that the user has already are left as they are. All or nothing.
func (s *Store) ImportWatches(ctx context.Context, userID string, ws []watch.Watched, maxWatches int) (imported int, err error) {
	err = s.write(ctx, func(tx *tx) error {
		imported = 0
		for _, w := range ws {
			found, err := listingsBy(ctx, tx, "l.adapter = ? AND l.item_code = ?", w.Listing.Adapter, w.Listing.ItemCode)
			if err != nil {
				return err
			}
			l := w.Listing
			if len(found) == 0 {
				if err := insertListing(tx, l); err != nil {
					return err
				}
			}
			for _, known := range found {
				l = known
			}
			already, err := watchedAlready(tx, userID, l.ID)
			if err != nil {
				return err
			}
			if already != "" {
				continue
			}
			if len(found) > 0 { // somebody asks for it again
				if err := resumeListing(tx, l.Resume(s.Now())); err != nil {
					return err
				}
			}
			w.Watch.UserID, w.Watch.ListingID = userID, l.ID
			if err := insertWatch(tx, w.Watch); err != nil {
				return err
			}
			imported++
		}
		live, err := liveWatches(tx, userID)
		if err == nil && live > maxWatches {
			err = watch.ErrLimit
		}
		return err
	})
	return imported, wrap("import watches", err)
}
