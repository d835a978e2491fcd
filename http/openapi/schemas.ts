/**
 * The named schemas of the OpenAPI document, and the step that replaces their uses by references, so that
 * readers and generated clients see one `User` instead of sixty copies.
 *
 * A schema is recognised by object identity of its TypeBox object, so nothing here repeats a field. Pure.
 */
import type { TSchema } from 'typebox';
import { Bot } from '../api/bots/schema.ts';
import { VoteCreditTier, VoteRedeem } from '../api/credits.ts';
import { HistoryReply } from '../api/history.ts';
import { Pack } from '../api/packs.ts';
import { Server } from '../api/servers.ts';
import { Session } from '../api/sessions.ts';
import { ApiResponse, ExtraLink, Seo, User } from '../api/shared/common.ts';
import { findOriginal } from '../api/shared/example.ts';
import { IndexBot, IndexServer } from '../api/shared/index-entities.ts';
import { Coupon, ItemBenefit, ShopItem } from '../api/shop.ts';
import { Team, TeamMember, TeamPermission } from '../api/teams.ts';
import { Vanity } from '../api/vanity.ts';
import { Vote, VoteInfo } from '../api/votes.ts';

const componentSchemas: Readonly<Record<string, TSchema>> = {
  ApiResponse,
  Bot,
  Coupon,
  ExtraLink,
  History: HistoryReply,
  IndexBot,
  IndexServer,
  Item: ShopItem,
  ItemBenefit,
  Pack,
  Seo,
  Server,
  Session,
  Team,
  TeamMember,
  TeamPermission,
  User,
  Vanity,
  Vote,
  VoteCreditTier,
  VoteInfo,
  VoteRedeem,
};
const componentNames = new Map<unknown, string>(
  Object.entries(componentSchemas).map(([name, schema]) => [findOriginal(schema), name]),
);

/** Schemas are a dozen levels deep; this only guards against one that contains itself. */
const depthMax = 64;

const expand = (node: object, depth: number): object => {
  if (depth > depthMax) throw new Error('a schema is nested too deeply: does it contain itself?');
  if (Array.isArray(node)) return node.map((item) => replaceByReference(item, depth + 1));
  const entries = Object.entries(node).map(([key, value]) => [
    key,
    key === 'examples' ? value : replaceByReference(value, depth + 1),
  ]);
  const values = listValues(node);
  // TypeBox leaves it out, and some generators of clients need it.
  if (values !== null && !('type' in node)) entries.push(['type', typeof values[0]]);
  return Object.fromEntries(entries);
};

/** The values that a schema names; `null` for one that names none. All are of one type. */
const listValues = (node: object): readonly unknown[] | null => {
  const { enum: values, const: only } = node as {
    readonly enum?: readonly unknown[];
    readonly const?: unknown;
  };
  if (Array.isArray(values)) return values;
  return only === undefined ? null : [only];
};

const replaceByReference = (node: unknown, depth: number): unknown => {
  if (typeof node !== 'object' || node === null) return node;
  const name = componentNames.get(findOriginal(node));
  if (name === undefined) return expand(node, depth);
  const reference = { $ref: `#/components/schemas/${name}` };
  const isDescribedHere = node !== componentSchemas[name];
  return isDescribedHere ? { ...reference, description: Reflect.get(node, 'description') } : reference;
};

/** Replaces each named schema in `schema` by a reference; `schema` too, if it is a named schema itself. */
export const toReferencedSchema = (schema: TSchema): unknown => replaceByReference(schema, 0);

/** Builds `components.schemas`: every named schema once, with references to the others. */
export const buildComponentSchemas = (): Record<string, unknown> =>
  Object.fromEntries(Object.entries(componentSchemas).map(([name, schema]) => [name, expand(schema, 0)]));
