/**
 * Handlers of plans: votes that operators void by a query, with a preview before and an undo after
 * (docs/operators/votes.md).
 *
 * A handler only records what the operator wants; a job does the work, on this node at once. A reply waits
 * for it for a moment, so a small plan is done in its reply, and a large one shows how far it is.
 */
import { foldTargetId } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import type { PlanState, SkipCounts, VoidPlan } from '../../storage/catalogue/operator/void-plans.ts';
import type { App } from '../app.ts';
import { createLimitError, createValidationError, requireFound } from '../response/errors.ts';
import { type Reply, replyOk, showRow } from '../response/reply.ts';
import { assertWholeListing } from './lists.ts';
import { formatCounted } from './page/format.ts';
import { type PlanBody, ShownPlan } from './plan-schema.ts';

/** A reply waits this long for the job; the operator's tools then ask again. */
const answerMsMax = 1_500;
const lookEveryMs = 50;
const dayMs = 86_400_000;

const workStates: ReadonlySet<PlanState> = new Set(['planning', 'voiding', 'undoing']);

const readPlan = async (app: App, id: string): Promise<VoidPlan> =>
  requireFound(await app.catalogue.operator.plans.findPlan(id), 'plan');

/** Lets the job of this node work on the plan. Replies when it has nothing more to do, or after a moment. */
const replyAfterWork = async (app: App, id: string): Promise<Reply> => {
  app.wakeJob('void_plans');
  const endMs = app.clock.monotonicMs() + answerMsMax;
  let plan = await readPlan(app, id);
  while (workStates.has(plan.state) && app.clock.monotonicMs() < endMs) {
    await new Promise<void>((resolve) => void app.clock.after(lookEveryMs, resolve));
    plan = await readPlan(app, id);
  }
  return replyOk(showPlan(plan));
};

/** The known fields of the query; throws for one that is missing or contradicts another. */
const readQuery = (app: App, body: PlanBody) => {
  const { target_type: kind, target_id, user, address_hash, network_hash, flags, reason, release } = body;
  const query = { target_type: kind, target_id, user, address_hash, network_hash, flags };
  assertWholeListing(query);
  const { since, before = new Date(app.clock.nowMs()).toISOString() } = body;
  if (since === undefined) throw createValidationError('body', { '/since': 'is needed for a plan' });
  if (reason === undefined) throw createValidationError('body', { '/reason': 'is needed for a plan' });
  if (Date.parse(since) >= Date.parse(before))
    throw createValidationError('body', { '/before': 'must be later than since' });
  for (const name of ['address_hash', 'network_hash'] as const) {
    const hash = BigInt(query[name] ?? 0);
    if (BigInt.asIntN(64, hash) !== hash)
      throw createValidationError('body', { [`/${name}`]: 'must be a number of 64 bits' });
  }
  const target = kind && target_id ? { target_id: foldTargetId(kind, target_id) } : {};
  return { query: { ...query, ...target, since, before }, reason, releases: release === true };
};

/** The dry run: makes the plan, or shows the one that the body names. */
export const planVotes = async (app: App, body: PlanBody, operator: string): Promise<Reply> => {
  if (body.plan !== undefined) return showPlanNow(app, body.plan);
  const plan = { ...readQuery(app, body), operator };
  const { target_type: kind, target_id: id } = plan.query;
  if (kind !== undefined && id !== undefined) await app.engine.waitForFlush(kind, id);
  const created = await app.catalogue.operator.plans.createPlan(plan);
  if (created !== null) return replyAfterWork(app, created);
  throw createLimitError('There are too many open plans: use them, or wait a day.', limits.openPlansMax);
};

/** Makes the votes of a plan void. */
export const voidPlan = async (app: App, { plan: id }: PlanBody): Promise<Reply> => {
  if (id === undefined)
    throw createValidationError('body', { '/plan': 'is needed: ask with dry_run=true for a plan' });
  if (await app.catalogue.operator.plans.startVoiding(id)) return replyAfterWork(app, id);
  const { state } = await readPlan(app, id);
  throw createValidationError('body', { '/plan': `is ${state}, or older than a day: make a new one` });
};

/** Makes the votes of a plan count again. */
export const restorePlan = async (app: App, id: string): Promise<Reply> => {
  if (await app.catalogue.operator.plans.startUndo(id)) return replyAfterWork(app, id);
  const { state } = await readPlan(app, id);
  const rule = `only one that was used within ${limits.planUndoDays} days can be undone`;
  throw createValidationError('path', { '/plan': `is ${state}: ${rule}` });
};

export const previewUndo = async (app: App, id: string): Promise<string> => {
  const { voided, restored, reason } = await readPlan(app, id);
  const votes = formatCounted(voided - restored, 'vote');
  return (
    `Makes ${votes} of the plan "${reason}" count again, except where a reset covers them or a released ` +
    'voter has voted again, or still may.'
  );
};

export const showPlanNow = async (app: App, id: string): Promise<Reply> =>
  replyOk(showPlan(await readPlan(app, id)));

export const readPlans = async (app: App, page: number) => {
  const { rows, ...list } = await app.catalogue.operator.plans.listPlans(page);
  return { ...list, rows: rows.map(showPlan) };
};

export const readSkipped = async (app: App, id: string, page: number) => {
  await readPlan(app, id);
  return app.catalogue.operator.plans.listSkipped(id, page);
};

/** What the audit log has of a request that names a plan. */
export const describePlan = async (app: App, id: string): Promise<Record<string, unknown>> => {
  const plan = await app.catalogue.operator.plans.findPlan(id);
  if (plan === null) return {};
  const { query, reason, releases: release, votes } = plan;
  return { ...query, reason, release, votes };
};

const showPlan = (plan: VoidPlan) => {
  const { id, preview, releases: release, position: done, started_at } = plan;
  const { skipped = {}, listings_total = 0, listings = [], samples = [] } = preview;
  const undoUntil = started_at && new Date(started_at.getTime() + limits.planUndoDays * dayMs);
  return showRow(ShownPlan, plan, {
    plan: id,
    query: { ...plan.query },
    summary: summarise(plan),
    release,
    done,
    skipped,
    listings_total,
    // JSON of SQL has its members in no order that anyone chose.
    listings: listings.map((listing) => showRow(ShownPlan.properties.listings.items, listing)),
    samples: samples.map((vote) =>
      showRow(ShownPlan.properties.samples.items, { ...vote, created_at: new Date(vote.created_at) }),
    ),
    undo_until: undoUntil?.toISOString() ?? null,
  });
};

const whyLeft: Readonly<Record<string, string>> = {
  immutable: 'immutable',
  redeemed: 'redeemed',
  operator: 'voided by an operator',
  monthly_reset: 'void by a monthly reset',
  deleted: 'of deleted listings',
  voted_again: 'whose author has voted again',
  may_vote_again: 'whose author may still vote again (undo again when their waits are over)',
};

/** `; left out: 3 redeemed, 2 immutable`, or nothing. */
const describeLeft = (counts: SkipCounts): string => {
  const parts = Object.entries(counts).map(([why, votes]) => `${votes} ${whyLeft[why] ?? why}`);
  return parts.length === 0 ? '' : `; left out: ${parts.join(', ')}`;
};

const summarise = (plan: VoidPlan): string => {
  const { state, votes, held, preview, position, left_out, voided, restored, releases } = plan;
  const count = (number: number): string => formatCounted(number, 'vote');
  const all = count(votes);
  const progress = `${count(position)} of ${count(held)} looked at`;
  switch (state) {
    case 'planning':
      return 'The query runs.';
    case 'refused':
      return `The query found more than ${count(limits.planVotesMax)}: choose a shorter time.`;
    case 'planned': {
      const listings = formatCounted(preview.listings_total ?? 0, 'listing');
      const voters = releases ? 'may vote again at once' : 'wait as if these votes counted';
      return `Voids ${all} of ${listings}${describeLeft(preview.skipped ?? {})}. Their voters ${voters}.`;
    }
    case 'voiding':
    case 'undoing':
      return `${state === 'voiding' ? 'Voiding' : 'Undoing'}: ${progress}.`;
    case 'voided':
      return `${count(voided)} became void${describeLeft(left_out)}.`;
    case 'undone':
      return `${count(restored)} of ${voided} void ones count again${describeLeft(left_out)}.`;
  }
};
