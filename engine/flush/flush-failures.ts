/**
 * Why a flush failed, in words for operators. Pure.
 */
import { StorageError, type StorageReason } from '../errors.ts';

const reasonMessages: Readonly<Record<StorageReason, string>> = {
  unreachable: 'a store does not answer',
  busy: 'a store is too busy',
  full: 'a store has no room',
  row: 'a row is refused',
  uninitialised: 'the hot store lost its data',
  damaged: 'a store found damaged data',
  outdated: 'the hot store is behind SQL',
  closed: 'the stores are closed',
  bug: 'a store fails for an unknown reason',
};

export const toReason = (error: unknown): StorageReason =>
  error instanceof StorageError ? error.reason : 'bug';
export const toMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A short message for `/readyz`. */
export const toReasonMessage = (error: unknown): string => reasonMessages[toReason(error)];
