/**
 * What is worth knowing about a listing that was saved as sent: a header of the empty reply to its edit. The
 * page of the listing says the same to those who may edit it.
 */

import { type LimitedField, limitedFields } from '../../../engine/rules/listings.ts';
import { findRenderedText } from '../../markdown/rendered-texts.ts';
import { noContent, type Reply } from '../../response/reply.ts';

const unfitHints = limitedFields.map((field) => `${field}_unfit` as const);
/**
 * All hints: `long_cut`: a part of the long description is plain text; `…_unfit`: the listing has the
 * field from an import, outside of the limits of requests.
 */
export const listingHints = ['long_cut', ...unfitHints] as const;

const isCut = async (long: string): Promise<boolean> => {
  try {
    return long !== '' && (await findRenderedText(long)).isCut;
  } catch {
    // Too many texts wait: the first view will render it.
    return false;
  }
};

/** The reply to an edit that brings this long description, `''` for none. The edit is made: never fails. */
export const replyHints = async (long: string, unfit: readonly LimitedField[] = []): Promise<Reply> => {
  const hints = [...((await isCut(long)) ? ['long_cut'] : []), ...unfit.map((field) => `${field}_unfit`)];
  return hints.length === 0 ? noContent : { ...noContent, headers: { 'X-Listing-Hints': hints.join(', ') } };
};
