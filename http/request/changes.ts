/**
 * What one request has changed so far: from then on, no failure of a store says that nothing was changed.
 *
 * Handlers of operations get the parts of the node through a follower, which is made for each request. Each
 * function of the catalogue counts as a change once its promise resolves, except those whose names say that
 * they only read: a new function is a change unless it is named here. Later failures of the catalogue and
 * the engine are `unknown`, also for the audit record. An operation that the engine alone carries out ends
 * with that call, so calls before a change, such as posts and votes, are passed on as they are.
 */
import { DomainError } from '../../engine/errors.ts';
import type { App } from '../app.ts';
import { toDomainError } from '../response/errors.ts';

/** Names of functions of the catalogue that change nothing of what the client requested. */
const readers =
  /^((find|list|read|count)\w*|page|known|noteLookup|posts|tiers|balance|describe|byTokenHash|begin|end)$/;

/** The parts that a request follows, and whether it has changed something. */
interface Followed extends App {
  hasChanged: boolean;
}

const savedMessage =
  'The change, or a part of it, is saved, but then a store failed. Look before you send the request again.';

/** Returns the failure of a store as what a client may read after a change; any other failure as it is. */
export const toUnknown = (failure: unknown): unknown => {
  const { code, context, retryAfterSeconds } = toDomainError(failure);
  if (context.outcome === undefined) return failure;
  return new DomainError(
    code,
    savedMessage,
    { ...context, outcome: 'unknown' },
    Math.max(1, retryAfterSeconds),
  );
};

const followCall = (result: unknown, followed: Followed, isChange: boolean): unknown => {
  if (!(result instanceof Promise)) return result;
  return result.then(
    (value: unknown) => {
      if (isChange) followed.hasChanged = true;
      return value;
    },
    (failure: unknown) => {
      throw followed.hasChanged ? toUnknown(failure) : failure;
    },
  );
};

const follow = <Part extends object>(part: Part, followed: Followed): Part =>
  new Proxy(part, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === 'function')
        return (...args: unknown[]) =>
          followCall(Reflect.apply(value, target, args), followed, !readers.test(String(name)));
      return typeof value === 'object' && value !== null ? follow(value, followed) : value;
    },
  });

/** Creates what gives each request its own view of the node's parts. */
export const createFollower = (app: App): (() => App) => {
  const view = Object.create(app, {
    catalogue: {
      get(this: Followed) {
        return follow(app.catalogue, this);
      },
    },
    engine: {
      get(this: Followed) {
        return this.hasChanged ? follow(app.engine, this) : app.engine;
      },
    },
  }) as Followed;
  return () => Object.assign(Object.create(view) as Followed, { hasChanged: false });
};
