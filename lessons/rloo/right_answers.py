"""Other correct ways to write the TODOs of lesson RLOO, which the checks must accept."""

from lessons._build.answers import right

# TODO 1: aggregate_sequence_logps

right("where", todo_1="sequence_logps = torch.where(completion_mask, token_logps, 0.0).sum(dim=-1)")

right("loop_over_completions", todo_1="""
      sequence_logps = torch.stack([scores[valid].sum() for scores, valid in zip(token_logps, completion_mask)])
      """)

right("loop_over_tokens", todo_1="""
      sequence_logps = torch.zeros_like(token_logps[:, 0])
      for t in range(token_logps.shape[1]):
          valid = completion_mask[:, t]
          sequence_logps = sequence_logps + torch.where(valid, token_logps[:, t], torch.zeros_like(sequence_logps))
      """)

right("cleaned_times_mask", todo_1="""
      clean = token_logps.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
      sequence_logps = (clean * completion_mask).sum(dim=1)
      """)

right("einsum_on_cleaned", todo_1="""
      sequence_logps = torch.einsum("nt,nt->n", token_logps.nan_to_num(), completion_mask.to(token_logps.dtype))
      """)

right("index_add", todo_1="""
      rows, columns = completion_mask.nonzero(as_tuple=True)
      sequence_logps = token_logps.new_zeros(len(token_logps)).index_add(0, rows, token_logps[rows, columns])
      """)

right("scatter_of_valid_scores", todo_1="""
      rows = torch.arange(len(token_logps)).unsqueeze(1).expand_as(completion_mask)[completion_mask]
      sequence_logps = torch.zeros(len(token_logps), dtype=token_logps.dtype).scatter_add(0, rows, token_logps[completion_mask])
      """)

right("float64_inside", todo_1="""
      sequence_logps = token_logps.double().masked_fill(~completion_mask, 0.0).sum(dim=-1).to(token_logps.dtype)
      """)

right("float64_returned", todo_1="""
      sequence_logps = token_logps.masked_fill(completion_mask.logical_not(), 0.0).sum(dim=-1, dtype=torch.float64)
      """)

right("mean_times_length", todo_1="""
      sequence_logps = token_logps.masked_fill(~completion_mask, 0.0).mean(dim=-1) * token_logps.shape[1]
      """)

right("copy_then_overwrite", todo_1="""
      scores = token_logps.clone()
      scores[~completion_mask] = 0
      sequence_logps = scores.sum(-1)
      """)

right("last_cumulative_sum", todo_1="""
      sequence_logps = torch.where(completion_mask, token_logps, 0).cumsum(dim=-1)[:, -1]
      """)

right("scores_of_each_row", todo_1="""
      sequence_logps = torch.cat([row[valid].sum(dim=0, keepdim=True) for row, valid in zip(token_logps, completion_mask)])
      """)

right("matrix_product_of_cleaned", todo_1="""
      clean = torch.where(completion_mask, token_logps, torch.tensor(0.0, dtype=token_logps.dtype))
      sequence_logps = clean @ torch.ones(clean.shape[1], dtype=clean.dtype)
      """)

# TODO 2: shape_rloo_rewards

right("difference_of_sums", todo_2="""
      old = torch.where(completion_mask, old_token_logps, 0.0).sum(dim=-1)
      reference = torch.where(completion_mask, reference_token_logps, 0.0).sum(dim=-1)
      sequence_kl = (old - reference).detach()
      shaped_rewards = (external_rewards - beta * sequence_kl).detach()
      """)

right("by_the_function_of_todo_1", todo_2="""
      with torch.no_grad():
          sequence_kl = (aggregate_sequence_logps(old_token_logps, completion_mask)
                         - aggregate_sequence_logps(reference_token_logps, completion_mask))
          shaped_rewards = external_rewards - beta * sequence_kl
      """)

right("loop_in_python", todo_2="""
      kls, shaped = [], []
      for reward, old, reference, valid in zip(external_rewards, old_token_logps, reference_token_logps, completion_mask):
          kl = sum(float(o) - float(r) for o, r, v in zip(old, reference, valid) if v)
          kls.append(kl)
          shaped.append(float(reward) - beta * kl)
      sequence_kl = torch.tensor(kls, dtype=external_rewards.dtype)
      shaped_rewards = torch.tensor(shaped, dtype=external_rewards.dtype)
      """)

right("minus_the_log_ratio", todo_2="""
      log_ratio = torch.zeros_like(old_token_logps)
      log_ratio[completion_mask] = (reference_token_logps - old_token_logps).detach()[completion_mask]
      sequence_kl = -log_ratio.sum(dim=1).detach()
      shaped_rewards = torch.add(external_rewards.detach(), sequence_kl, alpha=-beta)
      """)

right("float64_kl", todo_2="""
      difference = old_token_logps.detach().double() - reference_token_logps.detach().double()
      sequence_kl = torch.where(completion_mask, difference, torch.zeros_like(difference)).sum(dim=-1)
      shaped_rewards = external_rewards.detach().double() - beta * sequence_kl
      """)

right("cleaned_einsum", todo_2="""
      weights = completion_mask.to(old_token_logps.dtype)
      old, reference = (logps.detach().masked_fill(~completion_mask, 0.0) for logps in (old_token_logps, reference_token_logps))
      sequence_kl = torch.einsum("nt,nt->n", old - reference, weights)
      shaped_rewards = external_rewards.detach() - sequence_kl.mul(beta)
      """)

right("missing_handled_by_hand", todo_2="""
      token_kl = (old_token_logps - reference_token_logps).detach()
      sequence_kl = torch.stack([row[valid].sum() for row, valid in zip(token_kl, completion_mask)])
      shaped_rewards = torch.full_like(sequence_kl, float("nan"))
      known = ~external_rewards.isnan()
      shaped_rewards[known] = external_rewards.detach()[known].to(sequence_kl.dtype) - beta * sequence_kl[known]
      """)

right("masked_mean_kl", todo_2="""
      valid = completion_mask.sum(dim=-1)
      token_kl = torch.where(completion_mask, (old_token_logps - reference_token_logps).detach(), 0.0)
      sequence_kl = token_kl.sum(dim=-1) / valid * valid
      shaped_rewards = external_rewards.detach() if beta == 0 else external_rewards.detach() - beta * sequence_kl
      """)

right("penalty_taken_off_a_copy", todo_2="""
      with torch.no_grad():
          zero = torch.zeros_like(old_token_logps)
          old, reference = (torch.where(completion_mask, logps, zero) for logps in (old_token_logps, reference_token_logps))
          sequence_kl = (old - reference).sum(1)
          shaped_rewards = external_rewards.clone()
          shaped_rewards -= beta * sequence_kl
      """)

# TODO 3: leave_one_out_advantages

right("scaled_group_mean", todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count > 1:
          advantages[scored] = count / (count - 1) * (rewards[scored] - rewards[scored].mean())
      """)

right("loop_over_siblings", todo_3="""
      members = [i for i in range(len(rewards)) if group_ids[i] == group and not rewards[i].isnan()]
      for i in members:
          siblings = [rewards[j] for j in members if j != i]
          if siblings:
              advantages[i] = rewards[i] - sum(siblings) / len(siblings)
      """)

right("python_floats", todo_3="""
      values = {i: r for i, (r, g) in enumerate(zip(rewards.tolist(), group_ids.tolist())) if g == int(group) and r == r}
      if len(values) >= 2:
          for i, value in values.items():
              advantages[i] = value - (sum(values.values()) - value) / (len(values) - 1)
      """)

right("matrix_without_diagonal", todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      values = rewards[scored]
      others = 1 - torch.eye(len(values), dtype=values.dtype)
      if len(values) >= 2:
          advantages[scored] = values - (others @ values) / others.sum(dim=1)
      """)

right("pairwise_differences", todo_3="""
      scored = (group_ids == group) & rewards.isfinite()
      values = rewards[scored]
      if values.numel() >= 2:
          advantages[scored] = (values[:, None] - values[None, :]).sum(dim=1) / (values.numel() - 1)
      """)

right("nan_aware_sums", todo_3="""
      inside = group_ids == group
      values = rewards[inside]
      siblings = (~values.isnan()).sum() - 1
      result = values - (values.nansum() - values) / siblings
      advantages[inside] = torch.where(result.isfinite(), result, torch.zeros_like(result)) if siblings > 0 else 0.0
      """)

right("all_groups_at_once_by_scatter", function="""
      def leave_one_out_advantages(rewards, group_ids):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape:
              raise ValueError("rewards and group_ids must be [N], N > 0")
          if torch.isinf(rewards).any():
              raise ValueError("a missing reward is NaN, never infinite")
          rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
          scored = ~rewards.isnan()
          values = torch.where(scored, rewards, 0.0)
          _, group = group_ids.unique(return_inverse=True)
          sums = torch.zeros_like(values).scatter_add(0, group, values)[group]
          counts = torch.zeros_like(values).scatter_add(0, group, scored.to(values.dtype))[group]
          advantages = values - (sums - values) / (counts - 1).clamp(min=1)
          return torch.where(scored & (counts >= 2), advantages, 0.0)
      """)

right("all_groups_at_once_by_comparison", function="""
      def leave_one_out_advantages(rewards, group_ids):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or torch.isinf(rewards).any():
              raise ValueError("rewards and group_ids must be [N], N > 0, no reward infinite")
          rewards = rewards.detach().double()
          scored = ~rewards.isnan()
          sibling = (group_ids[:, None] == group_ids[None, :]) & scored & ~torch.eye(len(rewards), dtype=torch.bool)
          count = sibling.sum(dim=1)
          baselines = (sibling.double() @ rewards.nan_to_num()) / count
          return torch.where(scored & (count > 0), rewards - baselines, torch.zeros_like(rewards))
      """)

right("by_index_add", function="""
      def leave_one_out_advantages(rewards, group_ids):
          if rewards.ndim != 1 or rewards.numel() == 0 or group_ids.shape != rewards.shape or torch.isinf(rewards).any():
              raise ValueError("rewards and group_ids must be [N], no reward infinite")
          rewards = rewards.detach() if rewards.is_floating_point() else rewards.float()
          names, places = torch.unique(group_ids, return_inverse=True)
          known = ~rewards.isnan()
          sums = torch.zeros(len(names), dtype=rewards.dtype).index_add(0, places[known], rewards[known])
          counts = torch.bincount(places[known], minlength=len(names))
          others = (sums[places] - rewards) / (counts[places] - 1)
          return torch.where(known & (counts[places] > 1), rewards - others, torch.zeros_like(rewards))
      """)

right("mean_then_correct", todo_3="""
      scored = (group_ids == group) & ~rewards.isnan()
      count = int(scored.sum())
      if count < 2:
          continue
      mean = rewards[scored].mean()
      baselines = (count * mean - rewards[scored]) / (count - 1)
      advantages[scored] = rewards[scored] - baselines
      """)

right("dictionary_of_places", todo_3="""
      places = [i for i, name in enumerate(group_ids.tolist()) if name == group.item() and rewards[i] == rewards[i]]
      total = rewards[places].sum() if places else 0.0
      for i in places if len(places) > 1 else []:
          advantages[i] = rewards[i] - (total - rewards[i]) / (len(places) - 1)
      """)

right("float64_inside", todo_3="""
      scored = (group_ids == group) & rewards.isfinite()
      count = scored.sum()
      if count >= 2:
          values = rewards[scored].to(torch.float64)
          advantages[scored] = (values - (values.sum() - values).div(count - 1)).to(advantages.dtype)
      """)

# TODO 4: rloo_policy_loss

right("maximum_of_the_negated", todo_4="""
      ratios = (new_logps - old_logps.detach()).exp()
      clipped = torch.clamp(ratios, 1 - epsilon_low, 1 + epsilon_high)
      losses = torch.maximum(-ratios * advantages.detach(), -clipped * advantages.detach())
      """)

right("min_of_a_stack", todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      fixed = advantages.detach()
      surrogates = torch.stack([ratios * fixed, ratios.clamp(1 - epsilon_low, 1 + epsilon_high) * fixed])
      losses = -surrogates.min(dim=0).values
      """)

right("case_by_case", todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      fixed = advantages.detach()
      good = torch.where(ratios > 1 + epsilon_high, torch.full_like(ratios, 1 + epsilon_high), ratios)
      bad = torch.where(ratios < 1 - epsilon_low, torch.full_like(ratios, 1 - epsilon_low), ratios)
      losses = -torch.where(fixed > 0, good, bad) * fixed
      """)

right("one_sided_by_sign", todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      fixed = advantages.detach()
      held = torch.where(fixed > 0, ratios.clamp(max=1 + epsilon_high), ratios.clamp(min=1 - epsilon_low))
      losses = -(held * fixed)
      """)

right("loop_over_completions", todo_4="""
      ratios = torch.stack([torch.exp(new - old) for new, old in zip(new_logps, old_logps.detach())])
      terms = []
      for ratio, advantage in zip(ratios, advantages.tolist()):
          clipped = ratio.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
          terms.append(-min(ratio * advantage, clipped * advantage))
      losses = torch.stack(terms)
      """)

right("nested_minimum_and_maximum", todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      low, high = torch.full_like(ratios, 1 - epsilon_low), torch.full_like(ratios, 1 + epsilon_high)
      clipped = torch.minimum(torch.maximum(ratios, low), high)
      losses = -torch.min(ratios * advantages.detach(), clipped * advantages.detach())
      """)

right("excess_taken_off", todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      fixed = advantages.detach()
      above, below = (ratios - 1 - epsilon_high).relu(), (1 - epsilon_low - ratios).relu()
      losses = -(ratios * fixed - fixed.clamp(min=0) * above + fixed.clamp(max=0) * below)
      """)

right("float64_inside", todo_4="""
      ratios = torch.exp(new_logps.double() - old_logps.detach().double())
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      fixed = advantages.detach().double()
      losses = -torch.minimum(ratios * fixed, clipped * fixed)
      """)

right("expm1_around_one", todo_4="""
      ratios = 1.0 + torch.expm1(new_logps - old_logps.detach())
      change = (ratios - 1.0).clamp(-epsilon_low, epsilon_high)
      losses = -torch.minimum(ratios * advantages.detach(), (1.0 + change) * advantages.detach())
      """)

right("no_grad_for_what_is_fixed", todo_4="""
      with torch.no_grad():
          old, fixed = old_logps.clone(), advantages.clone()
      ratios = torch.exp(new_logps - old)
      clipped = ratios.clamp(1.0 - epsilon_low, 1.0 + epsilon_high)
      losses = -torch.minimum(fixed * ratios, fixed * clipped)
      """)

right("bounds_as_tensors", todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      fixed = advantages.detach()
      lo, hi = torch.tensor(1 - epsilon_low), torch.tensor(1 + epsilon_high)
      losses = -torch.minimum(ratios * fixed, ratios.clamp(lo, hi) * fixed)
      """)

right("by_the_sign_of_the_advantage", todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      fixed = advantages.detach()
      s = fixed.sign()
      bound = 1 + torch.where(s > 0, epsilon_high, -epsilon_low)
      losses = -fixed.abs() * torch.minimum(s * ratios, s * bound)
      """)

right("where_inside_the_range", todo_4="""
      ratios = torch.exp(new_logps - old_logps.detach())
      fixed = advantages.detach()
      outside = ((fixed > 0) & (ratios > 1 + epsilon_high)) | ((fixed < 0) & (ratios < 1 - epsilon_low))
      bounds = torch.where(fixed > 0, 1 + epsilon_high, 1 - epsilon_low).to(ratios.dtype)
      losses = -fixed * torch.where(outside, bounds, ratios)
      """)

right("hardtanh", todo_4="""
      ratios = (new_logps - old_logps.detach()).exp()
      clipped = torch.nn.functional.hardtanh(ratios, 1 - epsilon_low, 1 + epsilon_high)
      fixed = advantages.detach()
      losses = -torch.min(fixed * ratios, fixed * clipped)
      """)

right("quotient_of_shifted_probabilities", todo_4="""
      old = old_logps.detach()
      ratios = (new_logps - old).exp() / (old - old).exp()
      fixed = advantages.detach()
      losses = torch.maximum(-fixed * ratios, -fixed * ratios.clip(1 - epsilon_low, 1 + epsilon_high))
      """)
