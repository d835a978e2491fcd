/**
 * The offers of the demo: credit tiers, a small shop, a coupon. Data only. demo.ts imports them.
 */
import type { OfferOf } from '../../storage/import/offers-schema.ts';

type DemoOffer = OfferOf<'tier'> | OfferOf<'benefit'> | OfferOf<'item'> | OfferOf<'coupon'>;

/** Ordered so that each record comes after the records it refers to. */
export const demoOffers: readonly DemoOffer[] = [
  { kind: 'tier', id: 'bot-first', target_type: 'bot', position: 0, votes: 100, cents: 10 },
  { kind: 'tier', id: 'bot-rest', target_type: 'bot', position: 1, votes: 1_000, cents: 5 },
  { kind: 'tier', id: 'server-first', target_type: 'server', position: 0, votes: 50, cents: 10 },
  { kind: 'tier', id: 'server-rest', target_type: 'server', position: 1, votes: 500, cents: 5 },
  {
    kind: 'benefit',
    id: 'faster-votes',
    name: 'Faster votes',
    description: 'Users can vote every four hours.',
    target_types: ['bot', 'server'],
  },
  {
    kind: 'item',
    id: 'premium-week',
    name: 'Premium for a week',
    cents: 250,
    description: 'A week in which everybody can vote every four hours.',
    duration: 168,
    benefits: ['faster-votes'],
    target_types: ['bot', 'server'],
  },
  {
    kind: 'item',
    id: 'premium-month',
    name: 'Premium for a month',
    cents: 799,
    description: 'A month in which everybody can vote every four hours.',
    duration: 720,
    benefits: ['faster-votes'],
    target_types: ['bot', 'server'],
  },
  {
    kind: 'coupon',
    id: 'welcome',
    code: 'WELCOME',
    cents: 100,
    public: true,
    usable: true,
    applicable_items: ['premium-week', 'premium-month'],
    target_types: ['bot', 'server'],
  },
];
