/**
 * Says what an operation would do, with names and counts, before an operator confirms it. Changes nothing.
 *
 * Each function rejects with `not_found` where the operation itself would.
 */
import { foldTargetId, type Target } from '../../engine/ids.ts';
import type { BanKind } from '../../storage/catalogue/people/people-edits.ts';
import type { SessionTarget } from '../../storage/catalogue/people/sessions.ts';
import type { App } from '../app.ts';
import { requireFound } from '../response/errors.ts';
import { formatCounted } from './page/format.ts';
import type { ResetAllBody, ResetBody } from './schema.ts';
import { parseResetTime } from './vote-edits.ts';

/** The form of a verb after a count. */
const formVerb = (count: number, verb: string): string => (count === 1 ? `${verb}s` : verb);

const describeListing = async (app: App, { kind, id: given }: Target) => {
  const id = foldTargetId(kind, given);
  const listing = requireFound(await app.catalogue.operator.previews.findListing(kind, id), kind);
  return { ...listing, title: `${kind} ${id} "${listing.name}"` };
};

export const previewRemoval = async (app: App, target: Target): Promise<string> => {
  const { title, votes, tokens } = await describeListing(app, target);
  const lost = `its ${formatCounted(votes, 'vote')} ${formVerb(votes, 'become')} void`;
  if (target.kind === 'pack')
    return `Deletes the ${title} for good: ${lost}. The bots and servers in it stay.`;
  const revoked = `${formatCounted(tokens, 'token')} of it ${tokens === 1 ? 'is' : 'are'} revoked`;
  const holdings = target.kind === 'team' ? ' It is refused while the team owns bots or servers.' : '';
  return `Deletes the ${title} for good: ${lost}, ${revoked}.${holdings}`;
};

export const previewVoteBan = async (app: App, target: Target): Promise<string> =>
  `Users can no longer vote for the ${(await describeListing(app, target)).title}.`;

export const previewBan = async (app: App, id: string, ban: BanKind): Promise<string> => {
  const user = await app.catalogue.operator.previews.findUser(id);
  const isFull = ban === 'banned';
  const verb = isFull ? 'Bans' : 'Bans from voting';
  if (user === null) return `There is no user ${id} yet. ${verb} that id in advance: check that it is right.`;
  const { tokens } = user;
  const stop = `${formatCounted(tokens, 'token')} of theirs ${formVerb(tokens, 'stop')} working at once`;
  const effect = isFull ? `: ${stop}` : '';
  return `${verb} the user ${id} "${user.username}"${effect}.`;
};

export const previewReset = async (app: App, target: Target, body: ResetBody): Promise<string> => {
  const before = new Date(parseResetTime(app, body)).toISOString();
  const { title, votes } = await describeListing(app, target);
  return (
    `Voids the votes of the ${title} cast before ${before}, except immutable ones. ` +
    `It has ${formatCounted(votes, 'vote')}; their users may vote again.`
  );
};

export const previewResetAll = async (app: App, body: ResetAllBody): Promise<string> => {
  const before = new Date(parseResetTime(app, body)).toISOString();
  const { listings, votes } = await app.catalogue.operator.previews.countAllVotes();
  return (
    `Voids the votes of all listings cast before ${before}, except immutable ones: ` +
    `${formatCounted(listings, 'listing')} with ${formatCounted(votes, 'vote')}.`
  );
};

export const previewVoid = async (app: App, itag: string): Promise<string> => {
  const vote = requireFound(await app.catalogue.operator.previews.findVote(itag), 'vote');
  if (vote.void)
    return 'This vote is already void: no total would change, but it would not count for its voter either.';
  const at = vote.created_at.toISOString();
  const direction = vote.upvote ? 'upvote' : 'downvote';
  const place = `${vote.target_type} ${vote.target_id}`;
  const rule = 'the user may vote again, unless another vote of the same request still counts';
  return `Voids the ${direction} of user ${vote.author} on ${place} from ${at}; ${rule}.`;
};

export const previewRevocation = async (
  app: App,
  target: SessionTarget,
  sessionId: string,
): Promise<string> => {
  const sessions = await app.catalogue.sessions.list(target);
  const named = sessions.find(({ id }) => id === sessionId.toLowerCase());
  const session = requireFound(named, 'session');
  const made = session.created_at.toISOString();
  return (
    `Revokes the ${session.type} token "${session.name}" of ${target.kind} ${target.id}, made ${made}. ` +
    `It has ${formatCounted(sessions.length, 'active token')}, this one included.`
  );
};

export interface NamedRow {
  readonly id: string;
  readonly name?: string;
}

/** `rows` are all rows of the kind that `noun` names. */
export const previewRowRemoval = async (
  noun: string,
  id: string,
  rows: Promise<readonly NamedRow[]>,
): Promise<string> => {
  const named = (await rows).find((row) => row.id === id);
  const { name = '' } = requireFound(named, noun);
  const title = name === '' || name === id ? '' : ` "${name}"`;
  return `Deletes the ${noun} ${id}${title}.`;
};
