/**
 * The number of the form of everything that a Redis store keeps. Each shard that was published has it in a
 * field of its hash, so a program meets it before it reads a record.
 *
 * Owns the refusal of other forms; what the form is, functions/1-slots.lua and its neighbours say.
 */
import { createNotAppliedError } from '../../../engine/errors.ts';
import { listAllShards } from '../../../engine/ids.ts';
import type { Link } from './link.ts';
import { toTag } from './tags.ts';

/** As in functions/1-slots.lua. */
export const formatField = '!f';
export const redisFormat = '1';

/** Closes the link and rejects, with a `StorageError` for the operator, when a shard has another form. */
export const assertFormat = async (link: Link): Promise<void> => {
  for (const shard of listAllShards()) {
    const key = `${link.prefix}{s${toTag(shard)}}:e`;
    const [generation, format] = (await link.send('HMGET', [key, '!g', formatField])) as (string | null)[];
    if (generation === null || String(format) === redisFormat) continue;
    const detail =
      `the counters in Redis were made by format ${format ?? 'none'}; this program knows ${redisFormat}. ` +
      'Use the version that wrote them, or an empty Redis';
    link.close();
    throw createNotAppliedError('open', 'bug', detail);
  }
};
