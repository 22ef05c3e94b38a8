"""A Python renderer on Vulkan hands its device to Sotto: characters speak on the card that it draws on.

pip install sotto-runtime[vulkan]
python vulkan_share.py
"""

from __future__ import annotations

import json

import sotto
import vulkan as vk
from sotto.interop import vulkan

SHEET = "Name: Mara\nRole: healer\nManner: gruff\nPlace: Millbrook"
ASK = {
    "model": "sotto/house",
    "max_tokens": 48,
    "temperature": 0,
    "messages": [
        {
            "role": "system",
            "content": SHEET,
        },
        {"role": "user", "content": "Who are you?"},
    ],
}


def main() -> None:
    """Makes a device, hands it over, and asks."""
    application = vk.VkApplicationInfo(
        sType=vk.VK_STRUCTURE_TYPE_APPLICATION_INFO, apiVersion=vk.VK_MAKE_VERSION(1, 2, 0)
    )
    instance = vk.vkCreateInstance(
        vk.VkInstanceCreateInfo(
            sType=vk.VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, pApplicationInfo=application
        ),
        None,
    )
    card = vk.vkEnumeratePhysicalDevices(instance)[0]
    families = vk.vkGetPhysicalDeviceQueueFamilyProperties(card)
    family = next(at for at, one in enumerate(families) if one.queueFlags & vk.VK_QUEUE_GRAPHICS_BIT)
    queues = vk.VkDeviceQueueCreateInfo(
        sType=vk.VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, queueFamilyIndex=family, pQueuePriorities=[1.0]
    )
    device = vk.vkCreateDevice(
        card,
        vk.VkDeviceCreateInfo(sType=vk.VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, pQueueCreateInfos=[queues]),
        None,
    )
    queue = vk.vkGetDeviceQueue(device, family, 0)

    with sotto.Engine() as engine:
        rung = engine.attach_gpu(vulkan.renderer(instance, card, device, queue, queue_family=family))
        print(f"shared as {rung}")
        for above in engine.describe()["gpu"]["not_taken"]:
            print(f"  not {above['rung']}: {above['why']}")
        engine.load_model("sotto/house")
        answer = json.loads(engine.llm_chat_completion(ASK))
        print("Mara:", answer["choices"][0]["message"]["content"])
        engine.detach_gpu()  # before anything of the renderer goes
    vk.vkDestroyDevice(device, None)
    vk.vkDestroyInstance(instance, None)


if __name__ == "__main__":
    main()
