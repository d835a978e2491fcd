/**
 * When a webhook endpoint counts as failing, and the kinds of deliveries. Pure; SQL and the sender use the
 * same numbers.
 */

/** From this number of failures in a row an endpoint is failing: only its oldest delivery is tried. */
export const failingFrom = 3;

/** The `kind` of a delivery in SQL, by its event. */
export const deliveryKinds = {
  'vote.created': 1,
  'vote.voided': 2,
  'vote.ready': 3,
  'listing.updated': 4,
  'webhook.disabled': 5,
  'vote.restored': 6,
} as const;
