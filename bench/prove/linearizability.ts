/**
 * Decides whether a history of overlapping operations can be put into one order that a model allows and that
 * respects their times (Wing and Gong's search, with Lowe's memory of what was tried).
 *
 * An operation of unknown outcome may take effect at any time after its call, or never. Give the operations
 * of one entity at a time: the search is exponential in how many overlap. Pure.
 */
export interface Operation<Event> {
  readonly event: Event;
  readonly callMs: number;
  /** `Infinity` when its outcome is unknown: then it may be left out, too. */
  readonly returnMs: number;
}

export interface Model<State, Event> {
  readonly initial: State;
  /** The state after the event, or `null` where the model does not allow it. */
  apply(state: State, event: Event): State | null;
  /** Equal states, and only those, have equal keys. */
  keyOf(state: State): string;
}

/** Steps after which the search gives up. */
const stepsMax = 2_000_000;

interface Search<State, Event> {
  readonly model: Model<State, Event>;
  readonly operations: readonly Operation<Event>[];
  readonly tried: Set<string>;
  steps: number;
}

/** Whether such an order exists. Throws when the search takes too many steps. */
export const isLinearizable = <State, Event>(
  model: Model<State, Event>,
  operations: readonly Operation<Event>[],
): boolean => {
  const sorted = [...operations].sort((left, right) => left.callMs - right.callMs);
  const search = { model, operations: sorted, tried: new Set<string>(), steps: 0 };
  return place(search, model.initial, new Set());
};

/** Puts one more operation into the order, any that may come next. `placed` holds indices. */
const place = <State, Event>(
  search: Search<State, Event>,
  state: State,
  placed: ReadonlySet<number>,
): boolean => {
  const { model, operations, tried } = search;
  const left = operations.map((_, index) => index).filter((index) => !placed.has(index));
  const due = Math.min(...left.map((index) => (operations[index] as Operation<Event>).returnMs));
  if (due === Number.POSITIVE_INFINITY) return true;
  const key = `${left.join(',')} ${model.keyOf(state)}`;
  if (tried.has(key)) return false;
  tried.add(key);
  search.steps += 1;
  if (search.steps > stepsMax) throw new Error(`not decided in ${stepsMax} steps`);
  return left.some((index) => {
    const { event, callMs } = operations[index] as Operation<Event>;
    // An operation called after another one returned comes after it.
    if (callMs > due) return false;
    const next = model.apply(state, event);
    return next !== null && place(search, next, new Set([...placed, index]));
  });
};
