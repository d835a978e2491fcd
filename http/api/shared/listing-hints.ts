/**
 * What is worth knowing about a listing that was saved as sent: a header of the empty reply to its edit. The
 * page of the listing says the same to those who may edit it.
 */

import { findRenderedText } from '../../markdown/rendered-texts.ts';
import { noContent, type Reply } from '../../response/reply.ts';

/** All hints: `long_cut`: a part of the long description is shown as plain text. */
export const listingHints = ['long_cut'] as const;

const cutReply: Reply = { ...noContent, headers: { 'X-Listing-Hints': 'long_cut' } };

/** The reply to an edit of this long description. The edit is made, so it never fails. */
export const replyHints = async (long: string): Promise<Reply> => {
  try {
    return (await findRenderedText(long)).isCut ? cutReply : noContent;
  } catch {
    // Too many texts wait: the first view will render it.
    return noContent;
  }
};
