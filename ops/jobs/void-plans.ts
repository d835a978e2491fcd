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
 * Takes one step of each plan, so that a small one does not wait for a large one. A plan that fails joins
 * `failures`, by its id: it does not delay the others, and the next run tries it again. A busy store, during
 * a reset for example, is no failure. Resolves to whether there is more to do here.
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
  // Where voters may have voted again, those votes must be in SQL before their former ones are restored.
  const listings = state === 'undoing' ? await plans.listNextListings(id) : [];
  await Promise.all(listings.map((listing) => engine.waitForFlush(listing.kind, listing.id)));
  const { isMore, listing } = await plans.takePage(id, { nowMs: clock.nowMs(), waitMsMax });
  // The flusher delivers adjustments after its rounds, and those of a large plan round by round.
  if (!isMore && listing !== null) engine.flushEarly(listing.kind, listing.id);
  return isMore;
};
