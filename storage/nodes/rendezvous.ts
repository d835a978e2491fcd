/**
 * Assigns work to nodes by rendezvous hashing: the node with the highest hash of (node, work) does it. Pure.
 *
 * Every node computes the same owner from the same list, and when a node joins or leaves, only its own work
 * moves. Lists may differ for a moment, so work must tolerate being done twice or a little late.
 */
import { hash } from 'node:crypto';

/** Returns the node that does `work`; `''` if `nodes` is empty. */
export const findOwner = (work: string | number, nodes: readonly string[]): string => {
  let owner = '';
  let best = '';
  for (const node of nodes) {
    const weight = hash('sha256', `${node}\n${work}`, 'hex');
    if (weight > best) {
      best = weight;
      owner = node;
    }
  }
  return owner;
};
