/**
 * A request that is in order, for any row of the table: path, query and body that pass every check before the
 * question who may do this. Bodies are the published examples, with the ids of the people at hand.
 */
import type { TokenKind } from '../../../engine/rules/token.ts';
import { parameterNames } from '../../../http/match.ts';
import type { AnyRow } from '../../../http/route.ts';
import type { People } from './people.ts';

export interface Sample {
  readonly path: string;
  readonly body?: unknown;
}

/** Kinds of entity on which an operation with a free target is tried, by the token that asks. */
const targetOf = (row: AnyRow, kind: TokenKind): 'bot' | 'server' | 'team' => {
  if (kind === 'server') return 'server';
  return kind === 'team' && row.name !== 'redeemCredits' ? 'team' : 'bot';
};

const firstSegment = (row: AnyRow): string => row.path.split('/')[1] ?? '';

const valueFor = (
  row: AnyRow,
  name: string,
  { people, kind }: { people: People; kind: TokenKind },
): string => {
  const type = targetOf(row, kind);
  switch (name) {
    case 'target_type':
      return type;
    case 'target_id':
      return people[type];
    case 'uid':
    case 'user_id':
      return people.user;
    case 'bid':
    case 'client_id':
      return people.bot;
    case 'tid':
      return people.team;
    case 'mid':
      return people.member;
    case 'session_id':
      return '00000000-0000-7000-8000-000000000000';
    case 'id':
      if (row.path.startsWith('/users/{uid}/packs')) return people.pack;
      return (
        { bots: people.bot, servers: people.server, teams: people.team, packs: people.pack }[
          firstSegment(row)
        ] ?? people.user
      );
    default:
      return 'nothing';
  }
};

const queries: Readonly<Record<string, string>> = {
  castVote: '?upvote=true',
  getTeam: '?targets=bot',
  redeemCredits: '?votes=1',
  deleteNotification: '?notif_id=00000000-0000-7000-8000-000000000000',
};

let serial = 0;
const long = 'x'.repeat(50);

/** What the example of a body cannot know: ids of these people, names that are free. */
const changesOf = (row: AnyRow, people: People): object => {
  serial += 1;
  switch (row.name) {
    case 'addTeamMember':
      return { user_id: people.stranger, perms: [] };
    case 'createBot':
      return { bot_id: `9${String(serial).padStart(15, '0')}`, client_id: '' };
    case 'editTeamMember':
      return { perms: [], mentionable: true };
    case 'createNotification':
      return { endpoint: `https://1.1.1.1/${serial}` };
    case 'transferBot':
      return { team_id: people.secondTeam };
    case 'createPack':
      return { url: `made-${serial}`, bots: [people.bot], servers: [] };
    case 'editPack':
      return { bots: [people.bot] };
    case 'changeVanity':
      return { code: `code-${serial}` };
    case 'createApplication':
      return { position: 'banappeal', answers: { reason: long, appeal: long } };
    case 'createSession':
      return { perm_limits: ['view_sessions'] };
    default:
      return {};
  }
};

const withoutTeam = (row: AnyRow, body: object): object => {
  if (row.name !== 'createBot') return body;
  const { team_owner: _, ...rest } = body as { team_owner?: string };
  return rest;
};

/** The request of a row about these people, as a token of this kind would ask it. */
export const sampleOf = (row: AnyRow, people: People, kind: TokenKind): Sample => {
  const named = parameterNames(row.path);
  const path = named.reduce(
    (text, name) => text.replace(`{${name}}`, encodeURIComponent(valueFor(row, name, { people, kind }))),
    row.path,
  );
  const query = queries[row.name] ?? '';
  if (row.body === undefined) return { path: path + query };
  const example: object = row.body.examples[0];
  return { path: path + query, body: withoutTeam(row, { ...example, ...changesOf(row, people) }) };
};
