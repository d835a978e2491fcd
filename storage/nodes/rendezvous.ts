/**
 * Who does a piece of shared work: highest random weight of (node, work). Pure.
 *
 * Every node computes the same from the same list, and when a node comes or goes only its own work moves.
 * Lists may differ for a moment, so the work must bear being done twice or a little late.
 */
import { hash } from 'node:crypto';

/** The node that does `work`; `''` when there is none. */
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
