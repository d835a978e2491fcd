/**
 * Replies of lists: a snapshot as serialised once, or a page of it.
 */
import type { Listing } from '../../../storage/catalogue/catalogue.ts';
import { type Reply, replyText } from '../../response/reply.ts';

const snapshotTexts = new WeakMap<object, string>();

/** The reply of a snapshot; `value` is serialised only once per snapshot object. */
export const replySnapshot = (snapshot: object, value: () => unknown): Reply => {
  const text = snapshotTexts.get(snapshot) ?? JSON.stringify(value());
  snapshotTexts.set(snapshot, text);
  return replyText(text);
};

/** The page envelope of contract §2.15. */
export const replyPage = <Rows>(
  listing: Listing<Rows>,
  page: { readonly rowsPerPage: number; readonly results: (rows: Rows) => readonly unknown[] },
): Reply =>
  replySnapshot(listing, () => ({
    count: listing.count,
    per_page: page.rowsPerPage,
    results: page.results(listing.rows),
  }));
