/**
 * All cases: docs/vectors.json has them, and `npm run vectors` judges a client by them.
 */
import { failureCases } from './failure-cases.ts';
import { logCases } from './log-cases.ts';
import type { Vector } from './vector.ts';
import { webhookCases } from './webhook-cases.ts';

export const vectors: readonly Vector[] = [...webhookCases, ...failureCases, ...logCases];
