"""Other correct ways to write the TODOs of lesson rollout lifecycle, which the checks must accept."""

from lessons._build.answers import right

# TODO 1: completion_mask_from_ids

right("place_of_the_first_eos", todo_1="""
      is_eos = completion_ids == eos_id
      places = torch.arange(completion_ids.shape[1])
      last = torch.where(is_eos.any(dim=-1), is_eos.int().argmax(dim=-1), completion_ids.shape[1])
      completion_mask = places <= last.unsqueeze(-1)
      """)

right("least_place", todo_1="""
      places = torch.arange(completion_ids.shape[1]).expand_as(completion_ids)
      ends = places.masked_fill(completion_ids != eos_id, completion_ids.shape[1]).amin(dim=-1, keepdim=True)
      completion_mask = places <= ends
      """)

right("cumulative_product", todo_1="""
      going_on = (completion_ids != eos_id).long().cumprod(dim=-1)
      completion_mask = torch.ones_like(completion_ids, dtype=torch.bool)
      completion_mask[:, 1:] = going_on[:, :-1].bool()
      """)

right("loop_over_tokens", todo_1="""
      completion_mask = torch.zeros_like(completion_ids, dtype=torch.bool)
      for n, row in enumerate(completion_ids.tolist()):
          for t, token in enumerate(row):
              completion_mask[n, t] = True
              if token == eos_id:
                  break
      """)

right("python_lists", todo_1="""
      rows = completion_ids.tolist()
      lengths = [row.index(eos_id) + 1 if eos_id in row else len(row) for row in rows]
      completion_mask = torch.tensor([[t < length for t in range(len(row))] for row, length in zip(rows, lengths)])
      """)

right("running_maximum", todo_1="""
      is_eos = (completion_ids == eos_id).int()
      seen_before = torch.cat([torch.zeros_like(is_eos[:, :1]), is_eos.cummax(dim=-1).values[:, :-1]], dim=-1)
      completion_mask = seen_before.logical_not()
      """)

right("count_equals_itself", todo_1="""
      is_eos = (completion_ids == eos_id).float()
      completion_mask = is_eos.cumsum(dim=1) == is_eos
      """)

right("until_the_eos_was_seen", todo_1="""
      seen = torch.zeros(len(completion_ids), dtype=torch.bool)
      columns = []
      for t in range(completion_ids.shape[1]):
          columns.append(~seen)
          seen = seen | (completion_ids[:, t] == eos_id)
      completion_mask = torch.stack(columns, dim=1)
      """)

right("logical_or_scan", todo_1="""
      is_eos = completion_ids.eq(eos_id)
      shifted = torch.nn.functional.pad(is_eos, (1, 0))[:, :-1]
      completion_mask = ~(shifted.cumsum(dim=1) > 0)
      """)

right("argmax_with_a_sentinel_column", todo_1="""
      is_eos = torch.cat([completion_ids == eos_id, torch.ones(len(completion_ids), 1, dtype=torch.bool)], dim=1)
      ends = is_eos.to(torch.uint8).argmax(dim=1, keepdim=True)
      completion_mask = torch.arange(completion_ids.shape[1]) <= ends
      """)

right("triangular_matrix", todo_1="""
      is_eos = (completion_ids == eos_id).double()
      earlier = torch.ones(completion_ids.shape[1], completion_ids.shape[1], dtype=torch.float64).triu(1)
      completion_mask = (is_eos @ earlier).round() == 0
      """)

# TODO 2: gather_token_logps

right("cut_after_the_softmax", todo_2="""
      all_logps = (logits / temperature).log_softmax(dim=-1)
      token_logps = all_logps[:, :-1].gather(2, ids[:, 1:, None])[:, prompt_length - 1:, 0]
      """)

right("chosen_minus_logsumexp", todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      chosen = torch.gather(predicting, -1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      token_logps = chosen - torch.logsumexp(predicting, dim=-1)
      """)

right("minus_cross_entropy", todo_2="""
      predicting = (logits[:, prompt_length - 1:-1] / temperature).transpose(1, 2)
      token_logps = -torch.nn.functional.cross_entropy(predicting, ids[:, prompt_length:], reduction="none")
      """)

right("categorical", todo_2="""
      policy = torch.distributions.Categorical(logits=logits[:, prompt_length - 1:-1] / temperature, validate_args=False)
      token_logps = policy.log_prob(ids[:, prompt_length:])
      """)

right("loop_over_tokens", todo_2="""
      columns = []
      for t in range(prompt_length, ids.shape[1]):
          logps = torch.log_softmax(logits[:, t - 1] / temperature, dim=-1)
          columns.append(logps[torch.arange(len(ids)), ids[:, t]])
      token_logps = torch.stack(columns, dim=1)
      """)

right("fancy_index", todo_2="""
      all_logps = torch.log_softmax(logits * (1.0 / temperature), dim=-1)
      rows, places = torch.arange(len(ids))[:, None], torch.arange(prompt_length, ids.shape[1])[None, :]
      token_logps = all_logps[rows, places - 1, ids[:, prompt_length:]]
      """)

right("where_one_hot", todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1] / temperature, dim=-1)
      chosen = torch.arange(logits.shape[-1]) == ids[:, prompt_length:, None]
      token_logps = torch.where(chosen, all_logps, 0.0).sum(dim=-1)
      """)

right("float64_inside", todo_2="""
      all_logps = torch.log_softmax(logits[:, prompt_length - 1:-1].double() / temperature, dim=-1)
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

right("maximum_taken_off_by_hand", todo_2="""
      predicting = logits[:, prompt_length - 1:-1] / temperature
      shifted = predicting - predicting.amax(dim=-1, keepdim=True).detach()
      all_logps = shifted - shifted.exp().sum(dim=-1, keepdim=True).log()
      token_logps = all_logps.gather(-1, ids[:, prompt_length:].unsqueeze(-1)).squeeze(-1)
      """)

right("take_along_dim", todo_2="""
      scaled = logits.narrow(1, prompt_length - 1, ids.shape[1] - prompt_length).div(temperature)
      all_logps = torch.nn.functional.log_softmax(scaled, -1)
      token_logps = torch.take_along_dim(all_logps, ids[:, prompt_length:, None], dim=2)[..., 0]
      """)

right("nll_loss", todo_2="""
      all_logps = (logits[:, prompt_length - 1:-1] / temperature).log_softmax(-1)
      flat = torch.nn.functional.nll_loss(all_logps.flatten(0, 1), ids[:, prompt_length:].flatten(), reduction="none")
      token_logps = -flat.view(len(ids), -1)
      """)

right("row_by_row", todo_2="""
      rows = []
      for row_logits, row_ids in zip(logits, ids):
          logps = torch.log_softmax(row_logits[:-1] / temperature, dim=-1)
          rows.append(logps[torch.arange(len(row_ids) - 1), row_ids[1:]][prompt_length - 1:])
      token_logps = torch.stack(rows)
      """)

right("inverse_temperature", todo_2="""
      scaled = (1 / temperature) * logits[:, prompt_length - 1:-1, :]
      index = ids[:, prompt_length:].unsqueeze(2)
      token_logps = (scaled.gather(2, index) - scaled.logsumexp(dim=2, keepdim=True)).squeeze(2)
      """)

# TODO 3: validate_group

right("one_record_after_another", todo_3="""
      for record in records:
          if field not in record:
              raise ValueError(f"{field} is missing")
          if record[field] != records[0][field]:
              raise ValueError(f"{field} differs: {record[field]!r}")
      shared[field] = records[0][field]
      """)

right("neighbors", todo_3="""
      if not all(field in record for record in records):
          raise ValueError("missing: " + field)
      for one, next_one in zip(records, records[1:]):
          if one[field] != next_one[field]:
              raise ValueError("differs: " + field)
      shared[field] = records[-1][field]
      """)

right("a_set_of_values", todo_3="""
      try:
          values = {record[field] for record in records}
      except KeyError:
          raise ValueError(f"{field} is missing") from None
      if len(values) > 1:
          raise ValueError(f"{field} has several values")
      shared[field] = values.pop()
      """)

right("a_mark_for_missing", todo_3="""
      missing = object()
      values = [record.get(field, missing) for record in records]
      if missing in values or values.count(values[0]) != len(values):
          raise ValueError(field)
      shared[field] = values[0]
      """)

right("setdefault", todo_3="""
      for record in records:
          if field not in record or shared.setdefault(field, record[field]) != record[field]:
              raise ValueError(f"the records do not agree in {field}")
      """)

right("own_loop_over_fields", function="""
      def validate_group(records):
          if len(records) == 0:
              raise ValueError("no records")
          fields = ["prompt_id", "policy_version", "reward_version", "reference_version", "teacher_version"]
          bad = [field for field in fields for record in records
                 if field not in record or field not in records[0] or record[field] != records[0][field]]
          if bad:
              raise ValueError(bad[0])
          return {field: records[0][field] for field in fields}
      """)

right("keys_compared_first", todo_3="""
      if sum(field in record for record in records) != len(records):
          raise ValueError(f"missing {field}")
      first, *others = [record[field] for record in records]
      if others.count(first) < len(others):
          raise ValueError(f"different {field}")
      shared[field] = first
      """)

right("key_error_turned_into_value_error", todo_3="""
      try:
          first = records[0][field]
          same = all(record[field] == first for record in records[1:])
      except KeyError as error:
          raise ValueError(f"no {field}") from error
      if not same:
          raise ValueError(f"{field} differs")
      shared |= {field: first}
      """)

right("distinct_values", todo_3="""
      distinct = []
      for record in records:
          if field not in record:
              raise ValueError(f"{field} missing")
          if record[field] not in distinct:
              distinct.append(record[field])
      if len(distinct) != 1:
          raise ValueError(f"{field}: {distinct}")
      shared.update({field: distinct[0]})
      """)

# TODO 4: importance_ratio

right("where_before_exp", todo_4="""
      if not record["policy_version"] == policy_version:
          raise ValueError(f"policy_version {record['policy_version']}, but this round is {policy_version}")
      log_ratios = torch.where(completion_mask, new_token_logps - old_token_logps.detach(), 0.0)
      ratios = log_ratios.exp()
      """)

right("both_cleaned_first", todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("stale policy_version")
      new = new_token_logps.masked_fill(~completion_mask, 0.0)
      old = old_token_logps.detach().masked_fill(~completion_mask, 0.0)
      ratios = torch.exp(new - old)
      """)

right("only_valid_ones_computed", todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      ratios = torch.ones_like(new_token_logps)
      ratios[completion_mask] = torch.exp(new_token_logps[completion_mask] - old_token_logps.detach()[completion_mask])
      """)

right("old_takes_the_new_on_padding", todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      clean = torch.where(completion_mask, new_token_logps, 0.0)
      old = torch.where(completion_mask, old_token_logps.detach(), torch.zeros_like(clean))
      ratios = torch.exp(clean - old)
      """)

right("expm1", todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      difference = (new_token_logps - old_token_logps.detach()).masked_fill(completion_mask.logical_not(), 0)
      ratios = 1.0 + torch.expm1(difference)
      """)

right("loop_over_completions", todo_4="""
      if policy_version != record["policy_version"]:
          raise ValueError("policy_version")
      rows = []
      for new, old, valid in zip(new_token_logps, old_token_logps.detach(), completion_mask):
          rows.append(torch.exp(torch.where(valid, new - old, torch.zeros_like(new))))
      ratios = torch.stack(rows)
      """)

right("float64_inside", todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      log_ratios = new_token_logps.double() - old_token_logps.detach().double()
      ratios = log_ratios.masked_fill(~completion_mask, 0.0).exp()
      """)

right("record_copied_without_gradient", todo_4="""
      with torch.no_grad():
          old = old_token_logps.clone()
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      ratios = torch.exp((new_token_logps - old).masked_fill(~completion_mask, 0.0))
      """)

right("exp_of_cleaned_difference", todo_4="""
      if not (record["policy_version"] == policy_version):
          raise ValueError(f"record of policy_version {record['policy_version']} in round {policy_version}")
      difference = torch.zeros_like(new_token_logps)
      difference = difference.masked_scatter(completion_mask, (new_token_logps - old_token_logps.detach())[completion_mask])
      ratios = difference.exp()
      """)

right("index_put", todo_4="""
      if policy_version != record["policy_version"]:
          raise ValueError("policy_version: stale")
      old = record["old_token_logps"].detach()
      rows, columns = torch.nonzero(completion_mask, as_tuple=True)
      moved = (new_token_logps[rows, columns] - old[rows, columns]).exp()
      ratios = torch.ones_like(new_token_logps).index_put((rows, columns), moved)
      """)

right("padding_takes_the_old_value", todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      old = torch.nan_to_num(old_token_logps.detach(), nan=0.0, posinf=0.0, neginf=0.0)
      new = torch.where(completion_mask, new_token_logps, old)
      ratios = torch.exp(new - old)
      """)

right("power_of_e", todo_4="""
      if record["policy_version"] != policy_version:
          raise ValueError("policy_version")
      difference = torch.where(completion_mask, new_token_logps - old_token_logps.detach(), 0.0)
      ratios = torch.exp2(difference.double() / math.log(2.0)).to(difference.dtype)
      """)
