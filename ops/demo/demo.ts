/**
 * Loads the demo directory into an empty store and writes its tokens to DATA_DIR/demo.json.
 *
 * Only an empty store gets the demo. The row `demo` of the SQL table settings records whether the load is
 * unfinished or finished; an unfinished load is repeated with the same seed and time, which adds what is
 * missing. Called by the composition root at start, before a listener opens.
 */
import { randomBytes } from 'node:crypto';
import type { PostFields } from '../../storage/catalogue/content/blog.ts';
import { importLines } from '../../storage/import/import.ts';
import type { Sql } from '../../storage/sql/client.ts';
import {
  type DemoAccess,
  type DemoAddresses,
  type DemoFile,
  hasLiveDemoTokens,
  mintDemoTokens,
  readDemoFile,
  writeDemoFile,
} from './access.ts';
import { type DemoDirectory, generateDemo } from './generate.ts';
import { demoOffers } from './offers.ts';
import { makeDemoPosts } from './posts.ts';

const seed = 20_240_229;

/** `begun` means an unfinished load. `nowMs` is the time for which the directory was generated. */
interface DemoState {
  readonly state: 'begun' | 'loaded';
  readonly nowMs: number;
}

export interface DemoOptions {
  /** DATA_DIR, where demo.json goes. */
  readonly directory: string;
  /** With an empty `admin_token` the token of the file stays, or a new one is created. */
  readonly addresses: DemoAddresses;
  readonly nowMs: number;
}

/**
 * Loads the demo when the store is empty or a load is unfinished, and keeps demo.json up to date. Resolves
 * to `null` and changes nothing when the store holds a directory that is not the demo.
 */
export const prepareDemo = async (sql: Sql, options: DemoOptions): Promise<DemoFile | null> => {
  const mark = await readDemoState(sql);
  if (mark === null && !(await isEmpty(sql))) return null;
  const kept = readDemoFile(options.directory);
  const alive = mark?.state === 'loaded' && kept !== null && (await hasLiveDemoTokens(sql, kept));
  const access = alive ? kept : await loadDemo(sql, options.nowMs);
  const content = buildDemoFile(access, options.addresses, kept);
  if (!alive || JSON.stringify(content) !== JSON.stringify(kept)) writeDemoFile(options.directory, content);
  return content;
};

/**
 * Imports the records of the demo directory that are missing, and mints new tokens for its cast. Everything
 * is *ledger* when it resolves. Takes about a second on the embedded store.
 */
const loadDemo = async (sql: Sql, nowMs: number): Promise<DemoAccess> => {
  const mark = (await readDemoState(sql)) ?? { state: 'begun', nowMs };
  if (mark.state === 'begun') await writeDemoState(sql, mark);
  const { cast, records }: DemoDirectory = generateDemo(seed, mark.nowMs);
  const now = new Date(mark.nowMs).toISOString();
  if (mark.state === 'begun') {
    const offered = [...demoOffers, ...makeDemoPosts(cast.user).map(toPostRecord)];
    await importLines(sql, [...records, ...offered].map(formatLine), { now });
  }
  await writeDemoState(sql, { ...mark, state: 'loaded' });
  const { access, sessions } = mintDemoTokens(cast, nowMs);
  // New tokens replace the old ones. A deleted member of the cast gets none, and the import continues.
  await sql`delete from sessions where name = 'demo' and minted_by = ${cast.user}`;
  await importLines(sql, sessions.map(formatLine), { now, skipBad: true });
  return access;
};

const formatLine = (record: unknown): string => JSON.stringify(record);

const toPostRecord = ({ authorId, ...post }: PostFields) => ({ kind: 'post', ...post, author: authorId });

const buildDemoFile = (access: DemoAccess, addresses: DemoAddresses, kept: DemoFile | null): DemoFile => {
  const { user, second_user, bot, server, team, pack } = access;
  const admin_token = addresses.admin_token || kept?.admin_token || randomBytes(24).toString('base64url');
  return { ...addresses, admin_token, user, second_user, bot, server, team, pack };
};

const isEmpty = async (sql: Sql): Promise<boolean> => {
  const rows = await sql<{ used: boolean }[]>`
    select exists (select from users) or exists (select from totals) as used`;
  return rows[0]?.used === false;
};

const readDemoState = async (sql: Sql): Promise<DemoState | null> => {
  const rows = await sql<{ value: string }[]>`select value from settings where name = 'demo'`;
  const [state, nowMs] = rows[0]?.value.split(' ') ?? [];
  return state === 'begun' || state === 'loaded' ? { state, nowMs: Number(nowMs) } : null;
};

const writeDemoState = async (sql: Sql, mark: DemoState): Promise<void> => {
  await sql`
    insert into settings (name, value) values ('demo', ${`${mark.state} ${mark.nowMs}`})
    on conflict (name) do update set value = excluded.value`;
};
