/**
 * Builds a valid request for any route: its path, query and body pass every check before the authorisation.
 * Bodies are the published examples, with the ids of the given people.
 */
import type { TokenKind } from '../../../engine/rules/token.ts';
import { listParameterNames } from '../../../http/request/match.ts';
import type { AnyRoute } from '../../../http/route.ts';
import type { People } from './people.ts';

export interface Sample {
  readonly path: string;
  readonly body?: unknown;
}

/** The kind of entity on which an operation with any kind of target is tried, by the kind of token. */
const targetOf = (route: AnyRoute, kind: TokenKind): 'bot' | 'server' | 'team' => {
  if (kind === 'server') return 'server';
  return kind === 'team' && route.name !== 'redeemCredits' ? 'team' : 'bot';
};

const firstSegment = (route: AnyRoute): string => route.path.split('/')[1] ?? '';

const valueFor = (
  route: AnyRoute,
  name: string,
  { people, kind }: { people: People; kind: TokenKind },
): string => {
  const type = targetOf(route, kind);
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
    case 'kind':
      return 'bots';
    case 'board':
      return 'votes';
    case 'file':
      return 'votes.svg';
    case 'session_id':
    case 'webhook_id':
      return '00000000-0000-7000-8000-000000000000';
    case 'id':
      if (route.path.startsWith('/users/{uid}/packs')) return people.pack;
      return (
        { bots: people.bot, servers: people.server, teams: people.team, packs: people.pack }[
          firstSegment(route)
        ] ?? people.user
      );
    default:
      return 'nothing';
  }
};

const queries: Readonly<Record<string, string>> = {
  castVote: '?upvote=true',
  openFeed: '?targets=bot/unknown',
  getTeam: '?targets=bot',
  redeemCredits: '?votes=1',
  deleteNotification: '?notif_id=00000000-0000-7000-8000-000000000000',
};

let serial = 0;
const long = 'x'.repeat(50);

/** The fields in which a body differs from its example: ids of these people, and free names. */
const changesOf = (route: AnyRoute, people: People): object => {
  serial += 1;
  switch (route.name) {
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

const withoutTeam = (route: AnyRoute, body: object): object => {
  if (route.name !== 'createBot') return body;
  const { team_owner: _, ...rest } = body as { team_owner?: string };
  return rest;
};

/** Builds the request of a route about these people, for a token of this kind. */
export const sampleOf = (route: AnyRoute, people: People, kind: TokenKind): Sample => {
  const named = listParameterNames(route.path);
  const path = named.reduce(
    (text, name) => text.replace(`{${name}}`, encodeURIComponent(valueFor(route, name, { people, kind }))),
    route.path,
  );
  const query = queries[route.name] ?? '';
  if (route.body === undefined) return { path: path + query };
  const example: object = route.body.examples[0];
  return { path: path + query, body: withoutTeam(route, { ...example, ...changesOf(route, people) }) };
};
