/**
 * The demo tokens and their file, DATA_DIR/demo.json, which only its owner can read.
 *
 * The file is the only place of the tokens; SQL has their SHA-256. The file is replaced in one step, so a
 * reader never sees a part of it. It stays as long as all of its tokens are valid.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { formatToken, parseToken, type TokenKind } from '../../engine/rules/token.ts';
import type { RecordOfKind } from '../../storage/import/kinds.ts';
import type { Sql } from '../../storage/sql/client.ts';

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
export type DemoAccess = Omit<DemoFile, 'url' | 'admin_url' | 'admin_token'>;
export type DemoAddresses = Pick<DemoFile, 'url' | 'admin_url' | 'admin_token'>;

const demoFileName = 'demo.json';
const tenYearsMs = 10 * 365 * 86_400_000;

const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/** The ids of the users and entities that own the demo tokens. */
export type DemoCast = Readonly<Record<'user' | 'secondUser' | 'bot' | 'server' | 'team' | 'pack', string>>;

export interface MintedDemo {
  readonly access: DemoAccess;
  readonly sessions: readonly RecordOfKind<'session'>[];
}

/** Creates tokens for the cast, and the session records that make them valid for ten years. */
export const mintDemoTokens = (cast: DemoCast, nowMs: number): MintedDemo => {
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
      minted_by: cast.user,
      created_at: new Date(nowMs).toISOString(),
      expiry: new Date(nowMs + tenYearsMs).toISOString(),
    });
    return { id, token };
  };
  const access = {
    user: mint('user', cast.user),
    second_user: mint('user', cast.secondUser),
    bot: mint('bot', cast.bot),
    server: mint('server', cast.server),
    team: mint('team', cast.team),
    pack: { url: cast.pack },
  };
  return { access, sessions };
};

/** Reads the file; `null` when there is none or its content is invalid. */
export const readDemoFile = (directory: string): DemoFile | null => {
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
export const writeDemoFile = (directory: string, content: DemoFile): void => {
  const path = join(directory, demoFileName);
  writeFileSync(`${path}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  chmodSync(`${path}.new`, 0o600);
  renameSync(`${path}.new`, path);
};

/** Whether every token of the file is well-formed, belongs to its stated owner, and is valid in SQL. */
export const hasLiveDemoTokens = async (sql: Sql, content: DemoAccess): Promise<boolean> => {
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
    const rows = await sql`
      select from sessions where token_hash = ${hashToken(token)} and target_type = ${kind}
        and target_id = ${id} and expiry > now()`;
    if (rows.length === 0) return false;
  }
  return true;
};
