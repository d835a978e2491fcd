/**
 * Vanity codes in SQL: finds the target of a code or an itag, gives a code to a new listing, changes a code.
 *
 * A unique column makes sure that a code belongs to one entity at a time; a second claim is `taken`. The
 * rules for codes are in engine/rules/vanity.ts; callers check them first.
 */
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { foldVanityCode, listVanityCandidates, type VanityKind } from '../../../engine/rules/vanity.ts';
import { type Queryable, retrySerializable, type Sql, type Transaction } from '../../sql/client.ts';
import { asStorage, isUniqueViolation } from '../../sql/errors.ts';
import { readFirst } from '../../sql/rows.ts';
import { createLookUp, createNamesOfKind, type UnknownNames } from '../unknown.ts';

export interface VanityRow {
  readonly code: string;
  readonly created_at: Date;
  readonly itag: string;
  readonly target_id: string;
  readonly target_type: VanityKind;
}
export interface VanityTarget {
  readonly kind: VanityKind;
  readonly id: string;
}
/** `reserved`: the operator has reserved the code. */
export type VanityOutcome = 'changed' | 'taken' | 'reserved' | 'not_found';

export const createVanities = (sql: Sql, unknown: UnknownNames) => {
  const lookUp = (kind: string, load: (name: string) => Promise<VanityRow | null>) =>
    createLookUp(createNamesOfKind(unknown, kind), { none: null, isNone: (row) => row === null, load });
  return {
    /** Finds by code, else by the target's id (bots before servers before teams). */
    findByCode: lookUp('code', (code) => asStorage('vanity.byCode', () => findByCode(sql, code))),
    findByItag: lookUp('itag', (itag) => asStorage('vanity.byItag', () => findByItag(sql, itag))),
    /** Gives the entity another code. Ledger when it resolves; its current code changes nothing. */
    change: (target: VanityTarget, code: string) =>
      asStorage('vanity.change', () => retrySerializable(() => changeVanity(sql, target, code))).finally(
        unknown.forgetAll,
      ),
  };
};

const findByCode = async (sql: Queryable, codeOrId: string): Promise<VanityRow | null> => {
  const code = foldVanityCode(codeOrId);
  return readFirst(sql<VanityRow[]>`
    select code, created_at, itag, target_id, target_type from vanity
    where code = ${code} or (target_type in ('bot', 'server', 'team') and target_id = ${codeOrId})
    order by code <> ${code}, target_type limit 1`);
};

const findByItag = (sql: Queryable, itag: string): Promise<VanityRow | null> =>
  readFirst(sql<VanityRow[]>`
    select code, created_at, itag, target_id, target_type from vanity where itag = ${itag}`);

/** Changes the code. An entity keeps one that was reserved after the entity got it. */
const changeVanity = async (sql: Queryable, target: VanityTarget, code: string): Promise<VanityOutcome> => {
  const folded = foldVanityCode(code);
  try {
    const reserved = await sql`
      select from reserved_words where word = ${folded} and not exists (select from vanity
        where code = ${folded} and target_type = ${target.kind} and target_id = ${target.id})`;
    if (reserved.length > 0) return 'reserved';
    const rows = await sql`
      update vanity set code = ${folded}
      where target_type = ${target.kind} and target_id = ${target.id} returning itag`;
    return rows.length === 0 ? 'not_found' : 'changed';
  } catch (error) {
    if (isUniqueViolation(error)) return 'taken';
    throw error;
  }
};

/** Random codes that are tried when all candidates are taken. */
const randomCodes = 3;

/**
 * Gives a new listing the first of its candidate codes that is free, else a random one. Resolves to the itag
 * of the code.
 */
export const giveVanity = async (
  transaction: Transaction,
  target: VanityTarget,
  name: string,
): Promise<string> => {
  const itag = uuidv7();
  const spares = Array.from(
    { length: randomCodes },
    () => `${target.kind}-${randomBytes(6).toString('hex')}`,
  );
  for (const code of [...listVanityCandidates(target.kind, target.id, name), ...spares]) {
    const rows = await transaction`
      insert into vanity (itag, code, target_type, target_id)
      select ${itag}::uuid, ${code}, ${target.kind}, ${target.id}
      where not exists (select from reserved_words where word = ${code})
      on conflict (code) do nothing returning itag`;
    if (rows.length === 1) return itag;
  }
  throw new Error(`no vanity code is left for ${target.kind} ${target.id}`);
};
