/**
 * The sections of the shown document: their order, their descriptions, and which operations are in them.
 *
 * What newcomers need comes first. A route is shown in the section of its contract chapter, unless a rule
 * here finds it a better place. Pure.
 */
import type { AnyRoute } from '../route.ts';

/** The mark of an operation that the published interface does not have. */
export const beyond = 'Beyond the contract';

/** In the order in which the page shows them. */
const sections: Readonly<Record<string, string>> = {
  Stats: 'Servers, users, shards and presence of a bot: one post for all, or one for each process.',
  Votes: 'Up- and downvotes, the log of votes, and the credits that votes are worth.',
  Webhooks: 'Votes sent to an https address, signed, with a log and repeats.',
  Live: 'Totals as they change and votes as they come, as server-sent events or over a WebSocket.',
  Badges: 'Pictures of numbers for READMEs and web pages.',
  Leaderboards: 'Bots and servers by votes, clicks, growth and what is trending, and their positions.',
  Search: 'Listings by words, parts of words and tags.',
  'Sessions and login': 'Logging in; listing, creating, revoking and testing tokens.',
  Bots: 'Bots and their settings.',
  Servers: 'Chat servers.',
  Teams: 'Teams, their members and their permissions.',
  Packs: 'Collections of bots and servers.',
  Reminders: 'Reminders that one can vote again.',
  Notifications: 'Push subscriptions of browsers.',
  Vanity: 'Short addresses of listings.',
  Shop: 'What credits buy.',
  Applications: 'Applying for a position.',
  Blog: 'Posts of the directory.',
};

/** The first rule that fits wins. */
const rules: readonly (readonly [path: RegExp, section: string])[] = [
  [/^\/bots\/stats(\/|$)|\/shards$/, 'Stats'],
  [/\/history$/, 'Stats'],
  [/\/votes\/(log|months|summary|top|refs)$/, 'Votes'],
  [/\/webhooks(\/|$)/, 'Webhooks'],
  [/^\/feed$/, 'Live'],
  [/^\/servers\//, 'Servers'],
  [/^\/badges\//, 'Badges'],
  [/^\/leaderboards\/|\/rank$/, 'Leaderboards'],
  [/^\/search$/, 'Search'],
];

/** The name of the section that shows a route. */
export const findSection = (route: Pick<AnyRoute, 'path' | 'section'>): string =>
  rules.find(([path]) => path.test(route.path))?.[1] ?? route.section;

/** Whether the published interface does not have it. */
export const isBeyond = (route: Pick<AnyRoute, 'section'>): boolean => route.section === beyond;

const order = Object.keys(sections);
const toPlace = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);

interface Section {
  readonly name: string;
  readonly description: string;
}

/** The sections of these routes with their descriptions, in the order in which the page shows them. */
export const listSections = (routes: readonly AnyRoute[]): readonly Section[] =>
  [...new Set(routes.map(findSection))]
    .sort((one, other) => toPlace(one) - toPlace(other))
    .map((name) => ({ name, description: sections[name] ?? `${name}.` }));
