/**
 * The named schemas of the OpenAPI document, and the step that replaces their uses by references, so that
 * readers and generated clients see one `User` instead of sixty copies.
 *
 * A schema is recognised by object identity of its TypeBox object, so nothing here repeats a field. Pure.
 * Used by document.ts.
 */
import type { TSchema } from 'typebox';
import { Bot } from '../schema/bots.ts';
import { ApiResponse, ExtraLink, Seo, User } from '../schema/common.ts';
import { VoteCreditTier, VoteRedeem } from '../schema/credits.ts';
import { findOriginal } from '../schema/example.ts';
import { HistoryReply } from '../schema/history.ts';
import { IndexBot, IndexServer } from '../schema/index-entities.ts';
import { Pack } from '../schema/packs.ts';
import { Server } from '../schema/servers.ts';
import { Session } from '../schema/sessions.ts';
import { Coupon, ItemBenefit, ShopItem } from '../schema/shop.ts';
import { Team, TeamMember, TeamPermission } from '../schema/teams.ts';
import { Vanity } from '../schema/vanity.ts';
import { Vote, VoteInfo } from '../schema/votes.ts';

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
  return Object.fromEntries(entries);
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
