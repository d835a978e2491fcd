/**
 * When each error code is sent, for docs/reference/errors.md. *(setting)*: an operator may choose the value.
 */
import type { ErrorCode } from '../../../engine/errors.ts';

export const errorTexts: Readonly<Record<ErrorCode, string>> = {
  validation_failed: 'a field of the body, the query or the path has a value that is not allowed',
  malformed_json: 'the body is not JSON, not UTF-8, or nested deeper than 32 levels',
  malformed_request: "the request's framing cannot be trusted, or its body did not arrive in time",
  target_type_unsupported: 'this operation does not know that kind of entity',
  page_invalid: '`page` is not a whole number from 1',
  range_too_long: 'a history of more than 1,000 points; `context.step` is the step that fits',
  session_type_unsupported: 'the request is for a session of another type than `api`',
  protocol_unsupported: "the login's `protocol` is not `persepolis`",
  login_code_invalid: "the login's code is unknown to the provider, expired or used",
  login_state_invalid: "the login's state is not ours, older than 10 minutes, or used",
  token_missing: 'the operation needs a token and there is none',
  token_invalid: 'the token is unknown, revoked or expired; `X-Session-Invalid: true`',
  token_kind_unsupported: 'the token is of another kind than the header says, or than the operation takes',
  tokens_disagree: 'two headers carry different tokens',
  forbidden: 'not allowed, for a reason that has no code of its own',
  permission_missing: '`context.permission` names what the caller lacks',
  user_mismatch: 'the path names another user than the token',
  banned: 'the user is banned',
  vote_banned: 'the user may not vote',
  entity_vote_banned: 'this entity may not receive votes',
  proof_required:
    'a vote needs a proof of a human, or the one it has was not accepted; `context` has `provider` ' +
    'and `site_key`',
  not_found: 'there is no such entity',
  login_not_configured: 'the operator has named no login provider *(settings)*',
  route_not_found: 'there is no such path',
  method_not_allowed: 'the path has other methods: see `Allow`',
  already_exists:
    "it already exists (a member, a bot), or is taken (a client id, a pack's url, a vanity code)",
  log_restarted: 'a cursor of a vote log that began again; `context` has the new `oldest` and `head`',
  limit_reached: 'a cap is reached, for example 100 sessions per entity *(setting)*',
  last_owner: 'the team would have no owner',
  last_data_holder: 'the team would have no data holder',
  last_member: 'the only member cannot leave: delete the team instead',
  team_not_empty: 'the team still owns bots or servers',
  not_votable: 'the entity is not listed (a server: not listed or not public)',
  webhook_disabled: 'a disabled webhook cannot be tested; `context.reason` says why it is disabled',
  votes_insufficient: 'fewer votes can be redeemed than requested; `context.redeemable` is how many',
  shards_inconsistent:
    'a post of shards with a `shard_count` that was replaced; `context.shard_count` is the one that ' +
    'holds',
  no_credit_tiers: 'votes of this kind of entity are not worth any credits now',
  idempotency_conflict: 'a request with this `Idempotency-Key` is being worked on',
  position_closed: 'the position takes no applications now',
  bot_not_eligible: 'the bot cannot be put forward for this position: `context` says what it lacks',
  body_too_large: 'the body is over 1 MiB *(setting)*, that of a post of stats or shards over 384 KiB',
  content_encoding_unsupported: 'the request body is compressed; compressed bodies are never read',
  host_not_allowed: "the operator's listener only: `Host` is a name that is not allowed there *(setting)*",
  idempotency_mismatch: 'the `Idempotency-Key` belongs to another request',
  websocket_version_unsupported: 'an upgrade of the feed offers another version than 13',
  rate_limited: 'too many requests: see `Retry-After`',
  vote_wait: 'the wait since the last vote is not over; `context` has `hours`, `minutes`, `seconds`',
  application_wait:
    'the wait since the last application for this position is not over; `context` has `hours`, ' +
    '`minutes`, `seconds`',
  internal: 'an error of the server; the log has it under the request id',
  store_unavailable: 'a store cannot be reached, or cannot read a part of its data',
  search_unavailable: 'the index of words is being built, or Postgres lacks `pg_trgm`',
  login_unavailable: 'the login provider cannot be reached, is slow, or sends an invalid answer',
  proof_unavailable: 'the verifier of proofs does not answer *(setting)*',
  overloaded:
    'too much work is waiting, too many bodies are arriving, too many proofs of a human are being ' +
    'checked, or many requests change the same thing at once',
  deadline_passed: 'no answer in time',
  draining: 'this node is shutting down',
  feed_full:
    "this node, or the client's address, has as many connections or subscriptions of the feed as it " + 'may',
};
