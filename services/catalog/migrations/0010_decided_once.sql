-- What was decided once stays, whoever writes: rules that the code kept alone.

-- A version of the food policy never takes effect before it was made: an answer that was given stays right (decisions 9). The default is
-- older than every answer. Rows from before are left as they are, for the clock of whoever wrote them ran beside the server's.
alter table food_policies add constraint food_policies_not_backdated
  check (effective_at >= created_at or effective_at = '-infinity') not valid;

-- Of a code on the list nothing changes but that it ends, once.
create trigger product_codes_immutable before update on product_codes for each row
  when (old.version_to is not null
    or (old.gtin, old.effective_from, old.version_from, old.effective_to, old.hsa_fsa_eligibility, old.label)
      is distinct from (new.gtin, new.effective_from, new.version_from, new.effective_to, new.hsa_fsa_eligibility, new.label))
  execute function refuse_change();

-- What a release gives back is what was counted.
create trigger redemptions_immutable before update on redemptions for each row
  when ((old.coupon_ids, old.promo_code_ids, old.created_at) is distinct from (new.coupon_ids, new.promo_code_ids, new.created_at))
  execute function refuse_change();

-- A line or a discount that was claimed has what it made; the claim comes first, so the two are compared when the transaction ends.
alter table inline_lines add constraint inline_lines_price foreign key (account_id, test_mode, price_id)
  references prices (account_id, test_mode, price_id) deferrable initially deferred not valid;
alter table inline_coupons add constraint inline_coupons_coupon foreign key (account_id, test_mode, coupon_id)
  references coupons (account_id, test_mode, coupon_id) deferrable initially deferred not valid;
revoke update on inline_lines, inline_coupons from :"role";
