/**
 * Works on plans of void votes (storage/catalogue/operator/plan-steps.ts): a node job, woken by the
 * operator's request. Each step is one transaction that moves the plan on, so a plan that another node began
 * goes on here after that node has died.
 */
import type { Engine } from '../../engine/engine.ts';
import { StorageError } from '../../engine/errors.ts';
import type { Catalogue } from '../../storage/catalogue/catalogue.ts';
import type { OpenPlan } from '../../storage/catalogue/operator/void-plans.ts';
import type { NodeJob } from './job.ts';

export interface VoidPlansParts {
  readonly catalogue: { readonly operator: Pick<Catalogue['operator'], 'plans'> };
  readonly engine: Pick<Engine, 'waitForFlush' | 'flushEarly'>;
  readonly clock: { nowMs(): number };
  /** The longest wait for a vote, ms. */
  readonly voteWaitMsMax: number;
}

/** Short enough that a plan goes on soon after its node has died. */
const pauseMs = 15_000;

export const createVoidPlansJob = (parts: VoidPlansParts): NodeJob => ({
  name: 'void_plans',
  everyMs: pauseMs,
  run: async (signal) => {
    const failures = new Map<string, Error>();
    while ((await takeSteps(parts, failures)) && !signal.aborted);
    const [failure] = failures.values();
    if (failure !== undefined) throw failure;
  },
});

/**
 * Takes one step of each plan, so that a small plan does not wait for a large one. Adds a plan that fails to
 * `failures`, by its id: it delays no other plan, and the next run tries it again. A busy store (for example
 * during a reset) is no failure. Resolves to whether some plan has more steps.
 */
const takeSteps = async (parts: VoidPlansParts, failures: Map<string, Error>): Promise<boolean> => {
  const open = await parts.catalogue.operator.plans.listOpenPlans();
  const steps = open
    .filter(({ id }) => !failures.has(id))
    .map((plan) =>
      takeStep(parts, plan).catch((error: Error) => {
        if (!(error instanceof StorageError) || error.reason !== 'busy') failures.set(plan.id, error);
        return false;
      }),
    );
  return (await Promise.all(steps)).includes(true);
};

const takeStep = async (
  { catalogue, engine, clock, voteWaitMsMax: waitMsMax }: VoidPlansParts,
  { id, state }: OpenPlan,
): Promise<boolean> => {
  const { plans } = catalogue.operator;
  if (state === 'planning') return plans.fillPlan(id).then(() => false);
  // An undo must know which voters have voted again, so their new votes must be in SQL before it.
  const listings = state === 'undoing' ? await plans.listNextListings(id) : [];
  await Promise.all(listings.map((listing) => engine.waitForFlush(listing.kind, listing.id)));
  const { isMore, listing } = await plans.takePage(id, { nowMs: clock.nowMs(), waitMsMax });
  // The flusher delivers the adjustments after its rounds. An early flush at the plan's end hastens that.
  if (!isMore && listing !== null) engine.flushEarly(listing.kind, listing.id);
  return isMore;
};
