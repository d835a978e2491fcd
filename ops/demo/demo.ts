/**
 * Loads the demo directory into an empty store and writes its tokens to DATA_DIR/demo.json, which only its
 * owner can read. The file is the only place of the tokens; SQL has their SHA-256. It is replaced in one step
 * and stays as long as the tokens of all listings that were not deleted are valid.
 *
 * Only an empty store gets the demo. The row `demo` of the SQL table settings records whether the load is
 * unfinished or finished; an unfinished load is repeated with the same time, which adds what is missing.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/schema';
import { formatToken, parseToken, type TokenKind } from '../../engine/rules/token.ts';
import { importLines } from '../../storage/import/import.ts';
import type { RecordOfKind } from '../../storage/import/kinds.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { hasRow, readValue } from '../../storage/sql/rows.ts';
import { writeDemoHistory } from './history.ts';

/** The ids of the users and entities that own the demo tokens; they are in directory.jsonl. */
export const demoCast = {
  user: '1202398696403107881',
  secondUser: '1207816303125987410',
  bot: '1422601311899092789',
  server: '1341360619030318493',
  team: '4a593b56-9eb3-487d-ad51-0b5625364e0d',
  pack: 'starter-kit',
};

/** The time that the times of directory.jsonl are relative to. */
const fileMs = Date.UTC(2026, 0, 1);

/** Reads the demo directory as lines of the import format, with times as if it were written at `nowMs`. */
export const readDemoLines = (nowMs: number): string[] =>
  readFileSync(new URL('./directory.jsonl', import.meta.url), 'utf8')
    .replace(/"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g, (_, time: string) =>
      JSON.stringify(new Date(Date.parse(time) - fileMs + nowMs)),
    )
    .split('\n')
    .filter((line) => line.startsWith('{'));

/** `begun` means an unfinished load. `nowMs` is the time for which the directory was read. */
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
 * to `null` when the store holds another directory, or the demo without its bot, which all samples need.
 */
export const prepareDemo = async (sql: Sql, options: DemoOptions): Promise<DemoFile | null> => {
  const mark = await readDemoState(sql);
  if (mark === null && !(await isEmpty(sql))) return null;
  if (mark?.state === 'loaded' && !(await isListed(sql, 'bot', demoCast.bot))) return null;
  const kept = readDemoFile(options.directory);
  const alive = mark?.state === 'loaded' && kept !== null && (await hasLiveDemoTokens(sql, kept));
  const access = alive ? kept : await loadDemo(sql, options.nowMs);
  const content = buildDemoFile(access, options.addresses, kept);
  if (!alive || JSON.stringify(content) !== JSON.stringify(kept)) writeDemoFile(options.directory, content);
  return content;
};

/**
 * Imports the records of the demo directory that are missing, and mints new tokens for its cast. Everything
 * is *ledger* when it resolves.
 */
const loadDemo = async (sql: Sql, nowMs: number): Promise<DemoAccess> => {
  const mark = (await readDemoState(sql)) ?? { state: 'begun', nowMs };
  const now = new Date(mark.nowMs).toISOString();
  if (mark.state === 'begun') {
    await writeDemoState(sql, mark);
    await importLines(sql, readDemoLines(mark.nowMs), { now });
    await writeDemoHistory(sql, mark.nowMs);
  }
  await writeDemoState(sql, { ...mark, state: 'loaded' });
  const { access, sessions } = mintDemoTokens(nowMs);
  // New tokens replace the old ones. A deleted member of the cast gets none, and the import continues.
  await sql`delete from sessions where name = 'demo' and minted_by = ${demoCast.user}`;
  const lines = sessions.map((session) => JSON.stringify(session));
  await importLines(sql, lines, { now, skipBad: true });
  return access;
};

const buildDemoFile = (access: DemoAccess, addresses: DemoAddresses, kept: DemoFile | null): DemoFile => {
  const { user, second_user, bot, server, team, pack } = access;
  const admin_token = addresses.admin_token || kept?.admin_token || randomBytes(24).toString('base64url');
  return { ...addresses, admin_token, user, second_user, bot, server, team, pack };
};

const isEmpty = (sql: Sql): Promise<boolean> =>
  hasRow(sql`select where not exists (select from users) and not exists (select from totals)`);

const isListed = (sql: Sql, kind: TokenKind, id: string): Promise<boolean> =>
  hasRow(sql`select from totals where kind = ${kind} and entity_id = ${id}`);

const readDemoState = async (sql: Sql): Promise<DemoState | null> => {
  const value = await readValue<string>(sql`select value from settings where name = 'demo'`);
  const [state, nowMs] = value?.split(' ') ?? [];
  return state === 'begun' || state === 'loaded' ? { state, nowMs: Number(nowMs) } : null;
};

const writeDemoState = async (sql: Sql, mark: DemoState): Promise<void> => {
  await sql`
    insert into settings (name, value) values ('demo', ${`${mark.state} ${mark.nowMs}`})
    on conflict (name) do update set value = excluded.value`;
};

const holder = Type.Object({ id: Type.String(), token: Type.String() });
const file = Type.Object({
  url: Type.String(),
  admin_url: Type.String(),
  admin_token: Type.String(),
  user: holder,
  second_user: holder,
  bot: holder,
  server: holder,
  team: holder,
  pack: Type.Object({ url: Type.String() }),
});
const validator = Compile(file);

/** The content of demo.json. */
export type DemoFile = Static<typeof file>;
/** The part with the tokens; addresses and the operator's token are added when the file is written. */
type DemoAccess = Omit<DemoFile, 'url' | 'admin_url' | 'admin_token'>;
type DemoAddresses = Pick<DemoFile, 'url' | 'admin_url' | 'admin_token'>;

const demoFileName = 'demo.json';
const tenYearsMs = 10 * 365 * 86_400_000;

const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Creates tokens for the cast, and the session records that make them valid for ten years. */
const mintDemoTokens = (nowMs: number) => {
  const sessions: RecordOfKind<'session'>[] = [];
  const mint = (kind: TokenKind, id: string): Static<typeof holder> => {
    const token = formatToken({ kind, id }, randomBytes(32));
    sessions.push({
      kind: 'session',
      id: randomUUID(),
      target_type: kind,
      target_id: id,
      type: kind === 'user' ? 'login' : 'api',
      name: 'demo',
      token_hash: hashToken(token).toString('hex'),
      minted_by: demoCast.user,
      created_at: new Date(nowMs).toISOString(),
      expiry: new Date(nowMs + tenYearsMs).toISOString(),
    });
    return { id, token };
  };
  const access: DemoAccess = {
    user: mint('user', demoCast.user),
    second_user: mint('user', demoCast.secondUser),
    bot: mint('bot', demoCast.bot),
    server: mint('server', demoCast.server),
    team: mint('team', demoCast.team),
    pack: { url: demoCast.pack },
  };
  return { access, sessions };
};

/** Reads the file; `null` when there is none or its content is invalid. */
const readDemoFile = (directory: string): DemoFile | null => {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(join(directory, demoFileName), 'utf8'));
  } catch {
    // Missing or damaged: the caller writes a new one.
    return null;
  }
  return validator.Check(value) ? (value as DemoFile) : null;
};

/** Writes the file with mode 0600, in one step. */
const writeDemoFile = (directory: string, content: DemoFile): void => {
  const path = join(directory, demoFileName);
  writeFileSync(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  chmodSync(`${path}.new`, 0o600);
  renameSync(`${path}.new`, path);
};

/**
 * Whether every token of the file is well-formed, belongs to its stated owner, and is valid in SQL, unless
 * its listing was deleted.
 */
const hasLiveDemoTokens = async (sql: Sql, content: DemoAccess): Promise<boolean> => {
  const holders: [TokenKind, Static<typeof holder>][] = [
    ['user', content.user],
    ['user', content.second_user],
    ['bot', content.bot],
    ['server', content.server],
    ['team', content.team],
  ];
  for (const [kind, { id, token }] of holders) {
    const parts = parseToken(token);
    if (parts?.kind !== kind || parts.id !== id) return false;
    const isLive = await hasRow(sql`
      select from sessions where token_hash = ${hashToken(token)} and target_type = ${kind}
        and target_id = ${id} and expiry > now()`);
    if (!isLive && (kind === 'user' || (await isListed(sql, kind, id)))) return false;
  }
  return true;
};
