/**
 * When a webhook endpoint counts as failing. Pure; SQL and the sender decide by the same number.
 */

/** From this number of failures in a row an endpoint is failing: only its oldest delivery is tried. */
export const failingFrom = 3;
