/**
 * The named moments at which a crash test may end the process: before and after every verb of both stores'
 * ports, and for `commit` also by the kind of item it carries.
 *
 * A verb added to a port is a compile error here until this list says how it is reached.
 */
import type { Item } from '../../../engine/entity/items.ts';
import type { HotStore, Ledger } from '../../../engine/ports.ts';

type Verb<Port> = {
  [Name in keyof Port]: Port[Name] extends (...words: never[]) => Promise<unknown> ? Name : never;
}[keyof Port];
export type HotVerb = Verb<HotStore> & string;
export type LedgerVerb = Verb<Ledger> & string;

/** In which situation the verb is called: see crash.ts. `never`: not by the engine on one node. */
export type Situation = 'working' | 'first start' | 'poisoned' | 'never';

export const hotVerbs: Readonly<Record<HotVerb, Situation>> = {
  readGenerations: 'working',
  publish: 'first start',
  load: 'working',
  commit: 'working',
  peek: 'working',
  clear: 'never',
  markFlushed: 'working',
  countBacklog: 'working',
  sweep: 'working',
  readVersions: 'never',
  readParts: 'never',
  listDueParts: 'never',
  readChanges: 'never',
  close: 'never',
};
export const ledgerVerbs: Readonly<Record<LedgerVerb, Situation>> = {
  find: 'working',
  listVoters: 'never',
  listEdits: 'working',
  markEditsSent: 'working',
  flush: 'working',
  writeDeadLetter: 'poisoned',
  readGenerations: 'working',
  readFlushedPositions: 'working',
  takeGeneration: 'first start',
  listAdjustments: 'working',
  markAdjustmentsDelivered: 'working',
};
/** Kinds of items on their way in a `commit`. */
export const itemKinds: Readonly<Record<Item['kind'], Situation>> = {
  init: 'working',
  remember: 'never',
  stats: 'working',
  click: 'working',
  invite: 'working',
  vote: 'working',
  adjust: 'working',
  forget: 'working',
  facts: 'working',
  parts: 'never',
  liveness: 'never',
};

export const sides = ['before', 'after'] as const;
export type Side = (typeof sides)[number];

export interface CrashPoint {
  /** For example `before-hot.commit` or `after-hot.commit.vote`. */
  readonly name: string;
  readonly situation: Exclude<Situation, 'never'>;
}

const verbRows: readonly (readonly [string, Situation])[] = [
  ...Object.entries(hotVerbs).map(([verb, situation]) => [`hot.${verb}`, situation] as const),
  ...Object.entries(itemKinds).map(([kind, situation]) => [`hot.commit.${kind}`, situation] as const),
  ...Object.entries(ledgerVerbs).map(([verb, situation]) => [`ledger.${verb}`, situation] as const),
];

export const crashPoints: readonly CrashPoint[] = verbRows.flatMap(([verb, situation]) =>
  situation === 'never' ? [] : sides.map((side) => ({ name: `${side}-${verb}`, situation })),
);
