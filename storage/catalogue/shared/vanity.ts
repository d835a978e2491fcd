/**
 * Vanity codes in SQL: finding what a code or an itag stands for, giving one to a new listing, changing one.
 *
 * A code belongs to one entity at a time because its column is unique; who comes second is told so. Which
 * codes are allowed is engine/rules/vanity.ts' to say, before. Called by catalogue.ts and the edits of
 * listings.
 */
import { randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { foldVanityCode, listVanityCandidates, type VanityKind } from '../../../engine/rules/vanity.ts';
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { retrySerializable } from '../../sql/retry.ts';
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
/** `reserved`: by the operator. */
export type VanityOutcome = 'changed' | 'taken' | 'reserved' | 'not_found';

export interface Vanities {
  /** By code, else by the target's id (bots before servers before teams). */
  findByCode(word: string): Promise<VanityRow | null>;
  findByItag(itag: string): Promise<VanityRow | null>;
  /** Gives the entity another code; its own one again changes nothing. */
  change(target: VanityTarget, code: string): Promise<VanityOutcome>;
}

export const createVanities = (sql: Sql, unknown: UnknownNames): Vanities => {
  const lookUp = (kind: string, load: (name: string) => Promise<VanityRow | null>) =>
    createLookUp(createNamesOfKind(unknown, kind), { none: null, isNone: (row) => row === null, load });
  return {
    findByCode: lookUp('code', (word) => asStorage('vanity.byCode', () => findByCode(sql, word))),
    findByItag: lookUp('itag', (itag) => asStorage('vanity.byItag', () => findByItag(sql, itag))),
    change: (target, code) =>
      asStorage('vanity.change', () => retrySerializable(() => changeVanity(sql, target, code))).finally(
        unknown.forgetAll,
      ),
  };
};

const findByCode = async (sql: Queryable, word: string): Promise<VanityRow | null> => {
  const code = foldVanityCode(word);
  const rows = await sql<VanityRow[]>`
    select code, created_at, itag, target_id, target_type from vanity
    where code = ${code} or (target_type in ('bot', 'server', 'team') and target_id = ${word})
    order by code <> ${code}, target_type limit 1`;
  return rows[0] ?? null;
};

const findByItag = async (sql: Queryable, itag: string): Promise<VanityRow | null> => {
  const rows = await sql<VanityRow[]>`
    select code, created_at, itag, target_id, target_type from vanity where itag = ${itag}`;
  return rows[0] ?? null;
};

const uniqueViolation = '23505';

/** A code that was reserved after its owner took it stays his. */
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
    if ((error as { code?: string }).code === uniqueViolation) return 'taken';
    throw error;
  }
};

/** Codes tried when others took all candidates, on purpose or not. */
const spareCodes = 3;

/**
 * Gives a new listing the first code of its candidates that nobody has, else one made by chance. Resolves to
 * the code's itag.
 */
export const giveVanity = async (
  transaction: Transaction,
  target: VanityTarget,
  name: string,
): Promise<string> => {
  const itag = uuidv7();
  const spares = Array.from({ length: spareCodes }, () => `${target.kind}-${randomBytes(6).toString('hex')}`);
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
